import { Command, CommanderError } from "commander";
import type { Context } from "./context.ts";
import { ExitCode } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import type { Io } from "./io.ts";
import { ownVersion } from "./own-version.ts";
import { addCalls } from "./program/calls.ts";
import type { Finish } from "./program/flags.ts";
import { addServing } from "./program/machine.ts";
import { addMigrating } from "./program/migrate.ts";
import { addLooking, addRunning } from "./program/pipelines.ts";
import { createTalk } from "./talk.ts";
import { withoutControl } from "./text/escape.ts";
import { serviceWords } from "./typed.ts";

/** Runs one command line and returns its exit code; never throws, never touches the process. */
export async function runCli(args: readonly string[], io: Io): Promise<ExitCode> {
  const talk = createTalk(io);
  let exitCode: ExitCode = ExitCode.done;
  const program = createProgram({ io, talk, args }, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.refused;
    return sayError(error, { io, talk, args });
  }
}

/** Says what was thrown and what to do, and returns the exit code for it. */
export function sayError(error: unknown, { io, talk, args }: Context): ExitCode {
  const { message, next, exitCode } = explainError(error, { env: io.env, args });
  talk.say(`${talk.paint(["bold", "red"], "error")} ${message}`);
  talk.next(next);
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
    .hook("preAction", (_program, command) => context.talk.carry(serviceWords(command.opts())))
    .addHelpText("after", examples);
  program.commandsGroup("Pipelines:");
  addRunning(program, context, finish);
  addLooking(program, context, finish);
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
