import { Command, CommanderError } from "commander";
import type { Context } from "./context.ts";
import { ExitCode } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import type { Io } from "./io.ts";
import { createOutput } from "./output.ts";
import { ownVersion } from "./own-version.ts";
import { addCalls } from "./program/calls.ts";
import type { Finish } from "./program/flags.ts";
import { addServing } from "./program/machine.ts";
import { addMigrating } from "./program/migrate.ts";
import { addInspecting, addRunning } from "./program/pipelines.ts";
import { serviceFlags } from "./repeat-command.ts";
import { withoutControl } from "./text/escape.ts";

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
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.refused;
    return sayError(error, { io, output, args });
  }
}

/** Says what was thrown and what to do, and returns the exit code for it. */
export function sayError(error: unknown, { io, output, args }: Context): ExitCode {
  const { message, next, exitCode } = explainError(error, { env: io.env, args });
  output.say(`${output.paint(["bold", "red"], "error")} ${message}`);
  output.next(next);
  return exitCode;
}

/** The whole command line; `finish` takes the exit code of the command that ran. */
export function createProgram(context: Context, finish: Finish): Command {
  const { io } = context;
  const program = new Command("showrunner")
    .description(
      "Runs pipelines of paid media jobs: priced before they start, never paid twice, resumed after any crash.",
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(withoutControl(text)),
      writeErr: (text) => io.stderr.write(withoutControl(text)),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      outputError: (text, write) => write(`${text.trimEnd()}\nNext: showrunner --help\n`),
    })
    .version(ownVersion(), "--version", "print the version")
    .hook("preAction", (_program, command) => context.output.carry(serviceFlags(command.opts())))
    .addHelpText("after", examples);
  program.commandsGroup("Pipelines:");
  addRunning(program, context, finish);
  addInspecting(program, context, finish);
  addMigrating(program, context, finish);
  program.commandsGroup("This machine:");
  addServing(program, context, finish);
  program.commandsGroup("The service:");
  addCalls(program, context, finish);
  return program;
}

const examples = `
Examples:
  showrunner init                                                a pipeline to begin with
  showrunner plan recipes/talking-avatar.ts                      what it would cost, how long it would take
  showrunner run recipes/talking-avatar.ts -i script="Good day." --id hello --budget 2
  showrunner resume hello                                        after a crash, a stop or an empty wallet
  showrunner report hello                                        what happened, as one page with the media
  showrunner dashboard                                           every run, live in the browser
  showrunner serve                                               the local service, for anything that speaks the API
`;
