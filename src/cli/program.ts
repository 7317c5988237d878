import { Command, CommanderError } from "commander";
import { COMMANDS, withLauncher } from "../core/kit/launcher.ts";
import { ownVersion } from "../core/kit/own-version.ts";
import { ExitCode } from "./cli-error.ts";
import type { Context } from "./context.ts";
import { explainError } from "./explain-error.ts";
import type { Io } from "./io.ts";
import { type CommandOutput, createOutput } from "./output.ts";
import { type Act, addOption, collect, serviceOption, withFamilies, withService } from "./program/flags.ts";
import { addServing } from "./program/machine.ts";
import { addInspecting, addRunning } from "./program/pipelines.ts";
import { callSpecs } from "./service/specs.ts";
import { withoutControl } from "./text/escape.ts";
import { serviceFlags } from "./text/next-line.ts";

/** The command that carries v2 work over. */
export function addMigrating(program: Command, act: Act): void {
  withFamilies(program.command("migrate <v2-file>"))
    .description("turn v2 bodies or an exported automation flow into a pipeline, with a report of every field")
    .requiredOption("--out <dir>", "folder that pipeline.ts, models.ts, report.md and report.json are written to")
    .option("--map <v2=v3>", "the v3 model for a v2 slug, or the v3 voice for a v2 one; may be given again", collect)
    .option(
      "--decisions <file>",
      "file that keeps --map and answers, so that no question is repeated (default: migrate.decisions.json, where it exists)",
    )
    .option("--catalog <file>", "the models to migrate to (default: those of the service)")
    .option("--verify", "run the pipeline on a local service and compare what it makes with what v2 would make")
    .option("--force", "overwrite a pipeline.ts that was edited since it was written")
    .option("--local", "use the local service on this machine, whatever the environment says")
    .addOption(serviceOption())
    .option("--base-url <url>", "v3 address of the service (default: SHOWRUNNER_BASE_URL)")
    .option("--json", "print the report as one JSON document on stdout")
    .action(act(async () => (await import("./commands/migrate.ts")).migrate));
}

const groups: Readonly<Record<string, string>> = {
  models: "read the catalog",
  jobs: "list, show and follow jobs",
  files: "upload files",
};

/** The calls of the API, as `group verb`. */
export function addCalls(program: Command, act: Act): void {
  const created = new Map<string, Command>();
  for (const [name, spec] of Object.entries(callSpecs)) {
    const [, group = "", usage] = /^(\w+) (\w.*)$/.exec(name) ?? [];
    const parent =
      usage === undefined ? program : (created.get(group) ?? program.command(group).description(groups[group] ?? ""));
    if (usage !== undefined) created.set(group, parent);
    const command = parent.command(usage ?? name).description(spec.description);
    for (const [flags, description] of spec.options) addOption(command, flags, description);
    withService(command).action(
      act(async () => {
        const { performCall } = await import("./service/present.ts");
        return (context, ...given: readonly unknown[]) =>
          performCall(spec.perform, context, given.slice(0, -1), { keyOptional: group === "models" });
      }),
    );
  }
  addApi(program, act);
  const models = created.get("models") ?? program;
  addModelsDiff(models, act);
}

/** Every endpoint of the service, for what has no command of its own. */
function addApi(program: Command, act: Act): void {
  withService(program.command("api <method-or-path> [path]"))
    .description("send one request to the service with your key, and print its answer as it came")
    .option("--data <json|@file|->", "the body: JSON, a file of it, or - for stdin; without a method it is a POST")
    .option("--query <name=value>", "one parameter of the address; repeatable", collect)
    .option("--header <name:value>", "one more header; repeatable", collect)
    .option("--idempotency-key <key>", "of a submit (default: its idempotency_key, or generated)")
    .option("--yes", "agree to the price")
    .action(act(async () => (await import("./commands/api.ts")).api));
}

/** No call of the API: compares what it says now with what was pulled. */
function addModelsDiff(models: Command, act: Act): void {
  withService(models.command("diff [files...]"))
    .description("say what changed in the catalog since it was pulled, and which of these pipelines that breaks")
    .option("--snapshot <file>", "the earlier catalog (default: catalog.json)")
    .option("--with <file>", "compare with this catalog instead of the service's")
    .option("--input <json|@file>", "the pipelines' input, where it has no defaults")
    .option("-i <key=value>", "one field of it; key:=json for anything but text", collect)
    .action(act(async () => (await import("./commands/models-diff.ts")).modelsDiff));
}

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
  program.commandsGroup("Pipelines:");
  addRunning(program, act);
  addInspecting(program, act);
  addMigrating(program, act);
  program.commandsGroup("This machine:");
  addServing(program, act);
  program.commandsGroup("The service:");
  addCalls(program, act);
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
