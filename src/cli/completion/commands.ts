import type { Command } from "commander";

/** A command as a shell completes it. */
export interface CompletedCommand {
  /** `jobs get`; empty for the program itself. */
  readonly path: string;
  readonly description: string;
  /** Words that may follow: commands of a group. */
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly CompletedFlag[];
  /** Whether its first argument is a file. */
  readonly takesFile: boolean;
  /** Fixed words that its first argument may be. */
  readonly choices: readonly string[];
}

export interface CompletedFlag {
  /** With its dashes: `--budget`. */
  readonly name: string;
  readonly description: string;
  readonly value: "none" | "file" | "other";
}

/** Everything that there is to complete, the program first. */
export function completedCommands(program: Command): readonly CompletedCommand[] {
  return [completed(program, ""), ...program.commands.flatMap((one) => withChildren(one, ""))];
}

function withChildren(command: Command, parent: string): readonly CompletedCommand[] {
  const path = parent === "" ? command.name() : `${parent} ${command.name()}`;
  return [completed(command, path), ...command.commands.flatMap((one) => withChildren(one, path))];
}

function completed(command: Command, path: string): CompletedCommand {
  const [argument] = command.registeredArguments;
  return {
    path,
    description: command.description(),
    commands: command.commands.map((one) => ({ name: one.name(), description: one.description() })),
    flags: [
      ...command.options.map(({ long, short, flags, description }) => ({
        name: long ?? short ?? flags,
        description,
        value: kindOfValue(flags),
      })),
      { name: "--help", description: "say how it is used", value: "none" },
    ],
    takesFile: /^(file|path|v2)/.test(argument?.name() ?? ""),
    choices: argument?.argChoices ?? [],
  };
}

function kindOfValue(flags: string): CompletedFlag["value"] {
  const [, value] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
  if (value === undefined) return "none";
  return /file|dir|path/.test(value) ? "file" : "other";
}
