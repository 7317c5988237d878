import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import type { ServeFlags } from "./commands/serve.ts";
import type { Context } from "./context.ts";
import { ExitCode } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import type { Io } from "./io.ts";
import type { CallFlags } from "./service/call.ts";
import { callSpecs } from "./service/specs.ts";
import { createTalk } from "./talk.ts";

/** Runs one command line and returns its exit code; never throws, never touches the process. */
export async function runCli(args: readonly string[], io: Io): Promise<ExitCode> {
  const talk = createTalk(io);
  let exitCode: ExitCode = ExitCode.done;
  const program = createProgram({ io, talk }, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.refused;
    const { message, next, exitCode: code } = explainError(error, io.env);
    talk.say(`${talk.paint(["bold", "red"], "error")} ${message}`);
    talk.say(`Next: ${next}`);
    return code;
  }
}

type Finish = (code: ExitCode) => void;

function createProgram(context: Context, finish: Finish): Command {
  const { io } = context;
  const program = new Command("showrunner")
    .description(
      "Runs pipelines of paid media jobs: priced before they start, never paid twice, resumed after any crash.",
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      outputError: (text, write) => write(`${text.trimEnd()}\nNext: showrunner --help\n`),
    })
    .version(ownVersion(), "--version", "print the version")
    .addHelpText("after", examples);
  program.commandsGroup("Pipelines:");
  addRunning(program, context, finish);
  addLooking(program, context, finish);
  program.commandsGroup("This machine:");
  addServing(program, context, finish);
  program.commandsGroup("The service:");
  addCalls(program, context, finish);
  return program;
}

function addRunning(program: Command, context: Context, finish: Finish): void {
  withService(withInput(program.command("run <file[#export]>")))
    .description("price a pipeline, run it, show how it goes")
    .option("--id <id>", "name of the run (default: made up)")
    .option("--budget <usd>", "the most that the run may cost")
    .option("--out <dir>", "folder of the returned files")
    .option("--concurrency <limits>", "jobs at a time: 8, or total=8,video=2")
    .action(async (spec: string, flags: object) =>
      finish(await (await import("./commands/run.ts")).run(context, spec, flags)),
    );
  withService(withInput(program.command("plan <file[#export]>")))
    .description("check and price a pipeline; spends nothing")
    .action(async (spec: string, flags: object) =>
      finish(await (await import("./commands/plan.ts")).plan(context, spec, flags)),
    );
  withService(program.command("resume <run-id>"))
    .description("go on with a run that was killed, stopped or paused")
    .option("--wait-for-funds <duration>", "when the wallet is short, wait for it instead of pausing: 10m, 1h")
    .action(async (id: string, flags: object) =>
      finish(await (await import("./commands/resume.ts")).resume(context, id, flags)),
    );
  withService(program.command("stop <run-id>"))
    .description("let a run submit nothing more, wherever it runs")
    .action(async (id: string, flags: object) =>
      finish(await (await import("./commands/stop.ts")).stop(context, id, flags)),
    );
}

function addLooking(program: Command, context: Context, finish: Finish): void {
  withService(program.command("runs"))
    .description("list the runs of the journal")
    .action(async (flags: object) => finish(await (await import("./commands/runs.ts")).runs(context, flags)));
  withService(program.command("show <run-id>"))
    .description("show one run: steps, jobs, costs, files")
    .action(async (id: string, flags: object) =>
      finish(await (await import("./commands/show.ts")).show(context, id, flags)),
    );
  withService(program.command("events <run-id>"))
    .description("print what happened to a run")
    .option("--follow", "go on printing until the run rests")
    .action(async (id: string, flags: object) =>
      finish(await (await import("./commands/events.ts")).events(context, id, flags)),
    );
  withService(program.command("balance"))
    .description("show what is in the wallet")
    .action(async (flags: object) => finish(await (await import("./commands/balance.ts")).balance(context, flags)));
  withService(program.command("doctor"))
    .description("check Node, settings, journal and service")
    .action(async (flags: object) => finish(await (await import("./commands/doctor.ts")).doctor(context, flags)));
}

function addServing(program: Command, context: Context, finish: Finish): void {
  program
    .command("serve")
    .description("run the local service: the whole API on this machine, with play money")
    .option("--port <number>", "port to listen on; 0 takes a free one", "8787")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--data <dir>", "folder that keeps jobs, wallet and media", ".showrunner/local")
    .option("--balance <usd>", "what a new wallet holds", "25")
    .option("--key <id:secret>", "credential to accept (default: made up, then kept in the data folder)")
    .option("--rate-limit <requests/seconds>", "requests allowed per window, e.g. 600/60")
    .option("--max-running <n>", "jobs rendered at a time")
    .option("--speed <factor>", "how much faster than real rendering times pass")
    .option("--retention <duration>", "how long media are kept (default 48h)")
    .option("--brand <name>", "name in the X-<Brand>-… headers")
    .option("--json", "print address and key as one JSON document")
    .action(async (flags: ServeFlags) => finish(await (await import("./commands/serve.ts")).serve(context, flags)));
}

const groups: Readonly<Record<string, string>> = {
  models: "look at the catalog",
  jobs: "look at jobs, submit one, delete one",
  files: "upload files",
  keys: "manage API keys",
  tokens: "mint tokens for browsers",
  webhooks: "manage the default webhook and its deliveries",
  drains: "manage log drains",
};

/** The calls of the API, as `group verb`. */
function addCalls(program: Command, context: Context, finish: Finish): void {
  const made = new Map<string, Command>();
  for (const spec of callSpecs) {
    const [group = "", verb] = spec.name.split(" ");
    const parent =
      verb === undefined ? program : (made.get(group) ?? program.command(group).description(groups[group] ?? ""));
    if (verb !== undefined) made.set(group, parent);
    const command = parent.command([verb ?? group, ...(spec.args ?? [])].join(" ")).description(spec.description);
    for (const [flags, description] of spec.options ?? []) addOption(command, flags, description);
    withService(command).action(async (...given: unknown[]) => {
      const count = spec.args?.length ?? 0;
      const args = given.slice(0, count).map(String);
      const { performCall } = await import("./service/perform.ts");
      finish(await performCall(spec, context, args, given[count] as CallFlags));
    });
  }
}

function withService(command: Command): Command {
  return command
    .option("--local", "use the local service on this machine, whatever the environment says")
    .option("--base-url <url>", "v3 address of the service (default: SHOWRUNNER_BASE_URL)")
    .option("--journal <file>", "the journal (default: SHOWRUNNER_JOURNAL, then .showrunner/journal.db)")
    .addOption(new Option("--json", "print one JSON document on stdout"));
}

/** `-i` may be given again and again. */
function addOption(command: Command, flags: string, description: string): void {
  if (flags.startsWith("-i ")) command.option(flags, description, collect);
  else command.option(flags, description);
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

function withInput(command: Command): Command {
  return command
    .option("--input <json|@file>", "the pipeline's input")
    .option("-i <key=value>", "one field of the input; key:=json for anything but text", collect)
    .option("--max-unquoted <usd>", "allow jobs that cannot be priced in advance, up to this much each");
}

function ownVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

const examples = `
Examples:
  showrunner plan recipes/talking-avatar.ts                      what it would cost
  showrunner run recipes/talking-avatar.ts -i script="Good day." --id hello --budget 2
  showrunner resume hello                                        after a crash, a stop or an empty wallet
  showrunner serve                                               the local service, for anything that speaks the API
`;
