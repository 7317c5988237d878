import { Command, CommanderError } from "commander";
import { COMMANDS, withLauncher } from "../core/kit/launcher.ts";
import { ownVersion } from "../core/kit/own-version.ts";
import { ExitCode } from "./cli-error.ts";
import type { Context } from "./context.ts";
import { explainError } from "./explain-error.ts";
import type { Io } from "./io.ts";
import { type CommandOutput, createOutput } from "./output.ts";
import { type Act, addCommands } from "./program/commands.ts";
import { withoutControl } from "./text/escape.ts";
import { serviceFlags } from "./text/next-line.ts";

/** Runs one command line and returns its exit code; never throws, never touches the process. */
export async function runCli(args: readonly string[], io: Io): Promise<ExitCode> {
  const output = createOutput(io);
  let exitCode: ExitCode = ExitCode.done;
  const program = createProgram({ io, output, args }, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return ExitCode.done;
      sayRefusal(output, args, { code: "USAGE", message: error.message, next: helpOf(args) });
      return ExitCode.refused;
    }
    return sayError(error, { io, output, args });
  }
}

/** Says what was thrown and what to do, and returns the exit code for it. */
export function sayError(error: unknown, { io, output, args }: Context): ExitCode {
  const { code, message, next, exitCode } = explainError(error, { env: io.env, args });
  sayRefusal(output, args, { code, message, next: next.replace(/ {2,}\(.*\)$/s, "") });
  output.say(`${output.paint(["bold", "red"], "error")} ${message}`);
  output.next(next);
  return exitCode;
}

/** With `--json` there is a document on stdout, however a command ends. */
function sayRefusal(
  output: CommandOutput,
  args: readonly string[],
  refusal: { readonly code: string; readonly message: string; readonly next: string },
): void {
  if (args.includes("--json") && !output.hasPrinted) output.printJson({ ok: false, ...refusal });
}

/** The whole command line; `finish` takes the exit code of the command that ran. */
export function createProgram(context: Context, finish: (code: ExitCode) => void): Command {
  const { io } = context;
  const act: Act =
    (load) =>
    async (...given) => {
      const perform = (await load()) as (context: Context, ...given: unknown[]) => ExitCode | Promise<ExitCode>;
      finish(await perform(context, ...given));
    };
  const program = new Command("showrunner")
    .description(
      "Runs pipelines of paid media jobs: priced before they start, never paid twice, resumed after any crash.",
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(withoutControl(withLauncher(text, io.launcher))),
      writeErr: (text) => io.stderr.write(withoutControl(withLauncher(text, io.launcher))),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      outputError: (text, write) => write(`${text.trimEnd()}\nNext: ${helpOf(context.args)}\n`),
    })
    .version(ownVersion(), "--version", "print the version")
    .hook("preAction", (_program, command) => context.output.carry(serviceFlags(command.opts())))
    .addHelpText("after", examples);
  addCommands(program, act);
  return program;
}

/** The command that shows what can be typed in place of what was. */
function helpOf([verb = ""]: readonly string[]): string {
  return COMMANDS.includes(verb) && verb !== "help" ? `showrunner ${verb} --help` : "showrunner --help";
}

const examples = `
Examples:
  showrunner init                                                a pipeline to begin with
  showrunner plan recipes/talking-avatar.ts                      what it would cost, how long it would take
  showrunner run recipes/talking-avatar.ts -i script="Good day." --id hello --budget 2
  showrunner resume hello                                        after a crash, a stop or an empty wallet
  showrunner report hello                                        what happened, as one page with the media
  showrunner dashboard                                           every run, live in the browser
  showrunner api /usage --query group_by=model                   any endpoint of the service
  showrunner serve                                               the local service, for anything that speaks the API
`;
