import type { Command } from "commander";
import { ExitCode } from "../cli-error.ts";
import { bashCompletion, completedCommands, fishCompletion, zshCompletion } from "../completion/scripts.ts";
import type { Context } from "../context.ts";

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

type Shell = keyof typeof scripts;

/** `showrunner completion`: prints the script that makes a shell complete commands, flags and files. */
export function completion({ output }: Context, shell: Shell, _flags: object, { parent }: Command): ExitCode {
  output.print(scripts[shell](completedCommands(parent!)).trimEnd());
  return ExitCode.done;
}
