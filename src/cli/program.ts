import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command, CommanderError } from "commander";
import { isPostgresUrl } from "../core/kit/journal-location.ts";
import { COMMANDS, withLauncher } from "../core/kit/launcher.ts";
import { ownVersion } from "../core/kit/own-version.ts";
import { ExitCode, usageError } from "./cli-error.ts";
import type { Context } from "./context.ts";
import { createOutput, type Io } from "./io.ts";
import { type Act, addCommands } from "./program/commands.ts";
import type { Flags, ServiceFlags } from "./program/flags.ts";
import { visible, withoutControl } from "./text/escape.ts";
import { flagName, serviceFlags } from "./text/next-line.ts";

/** Runs a command. Returns an exit code even for an unexpected error, and never throws. */
export async function runCli(args: readonly string[], io: Io): Promise<ExitCode> {
  const output = createOutput(io, isJson(args));
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
      output.refuse({ ok: false, code: "USAGE", message: error.message, next: helpOf(args) });
      return ExitCode.refused;
    }
    return await sayError(error, { io, output, args });
  }
}

/** Returns whether `--json` was given. Words after `--` are arguments, even if they look like flags. */
export function isJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).includes("--json");
}

export async function sayError(error: unknown, { io, output, args }: Context): Promise<ExitCode> {
  const { explainError } = await import("./explain-error.ts");
  const { code, message, next, exitCode } = explainError(error, { env: io.env, args });
  output.refuse({ ok: false, code, message, next: next.replace(/ {2,}\(.*\)$/s, "") });
  output.say(`${output.paint(["bold", "red"], "error")} ${message}`);
  output.next(next);
  return exitCode;
}

export function createProgram(context: Context, finish: (code: ExitCode) => void): Command {
  const { io } = context;
  const act: Act =
    (load) =>
    async (...given) => {
      const perform = (await load()) as (context: Context, ...given: unknown[]) => Promise<ExitCode | undefined>;
      finish((await perform(context, ...given)) ?? ExitCode.done);
    };
  const program = new Command("showrunner")
    .description(
      "Runs pipelines of paid media jobs: priced before they start, never paid for twice, resumed after any crash.",
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
    .hook("preAction", (root, command) => {
      const flags = command.opts<ServiceFlags>();
      checkPlaces(command);
      checkPartners(command);
      context.output.carry(serviceFlags(flags));
      if (command.parent === root && needsJournal.has(command.name())) checkJournal(io, flags);
    })
    .addHelpText("after", examples);
  addCommands(program, act);
  return program;
}

const PLACES = /^(?:place|address|url|s3-url|folder|dir|file|path|journal|origin|target)$/;

/**
 * Refuses empty paths and addresses, which usually come from an unset shell variable. An empty path would mean the
 * current folder, and an empty address all interfaces.
 */
function checkPlaces(command: Command): void {
  for (const option of command.options) {
    const [, value = ""] = /<(.+)>/.exec(option.flags) ?? [];
    const given: unknown = command.getOptionValue(option.attributeName());
    const isPlace = value.split(/[|.[]/).some((part) => PLACES.test(part));
    if (!isPlace || ![given].flat().some((one) => typeof one === "string" && one.trim() === "")) continue;
    const orOmit = option.mandatory ? "" : `, or omit ${option.long} to use the default`;
    throw usageError(`${option.long}: the value is empty`, `give a value: ${option.flags}${orOmit}`);
  }
}

type Partners<N extends PropertyKey> = readonly [partners: readonly N[], next: string];

const toRows = [["each"], "add --each ROWS.csv"] as const;
const toEngine = [["engine"], "add --engine pg-boss"] as const;

/** Flags that have no effect unless one of their partners is given as well. */
const partners = {
  run: {
    idColumn: toRows,
    atOnce: [["each"], "to limit the parallel jobs of one run, use --concurrency N"],
    engine: [["detach"], "add --detach: without it, this process executes the run"],
    engineUrl: toEngine,
  },
  plan: { idColumn: toRows },
  resume: {
    note: [["redo", "rerun", "rerunFailed", "edit"], "add --redo STEP, --rerun STEP or --edit STEP:FIELD=VALUE"],
    everywhere: [["edit", "redo"], "add --edit STEP:FIELD=VALUE or --redo STEP --note TEXT"],
    sameSeed: [["rerun", "rerunFailed", "redo", "edit"], "add --rerun STEP or --rerun-failed"],
  },
  report: { prices: [["for"], "omit --prices: the full report already shows all costs"] },
  doctor: {
    webhookUrl: [["webhookPort"], "add --webhook-port 8080, the port on this machine that the URL forwards to"],
    webhookPort: [["webhookUrl"], "add --webhook-url with the URL that forwards to this port"],
  },
  worker: { engineUrl: toEngine, host: [["healthPort", "webhooks"], "add --health-port 8080"] },
  mcp: {
    runBudget: [["budget"], "set the maximum cost of all runs together: --budget 5"],
    port: [["http"], "showrunner mcp pipelines --http --port 8789"],
  },
  serve: { orLocal: [["replay"], "add --replay FOLDER"] },
} as const satisfies { readonly [C in keyof Flags]?: { readonly [N in keyof Flags[C]]?: Partners<keyof Flags[C]> } };

function checkPartners(command: Command): void {
  const isGiven = (name: string) => command.getOptionValue(name) !== undefined;
  const all: Readonly<Record<string, Readonly<Record<string, Partners<string>>>>> = partners;
  for (const [name, [others, next]] of Object.entries(all[command.name()] ?? {})) {
    if (!isGiven(name) || others.some(isGiven)) continue;
    const typed = `--${command.getOptionValue(name) === false ? "no-" : ""}${flagName(name)}`;
    // Created only here, because it would add a fifth to the start of every command.
    const anyOf = new Intl.ListFormat("en", { type: "disjunction" });
    const needed = anyOf.format(others.map((one) => `--${flagName(one)}`));
    throw usageError(`${typed} has no effect without ${needed}`, next);
  }
}

/** Commands for which `--journal` must name an existing journal, because a mistyped path must not create one. */
const needsJournal: ReadonlySet<string> = new Set([
  ...["resume", "runs", "show", "approve", "reject", "stop", "open", "report", "events"],
  ...["review-link", "export", "statement", "adopt", "reconcile", "gc"],
]);

function checkJournal({ cwd }: Io, { journal }: ServiceFlags): void {
  if (journal === undefined || isPostgresUrl(journal) || existsSync(resolve(cwd, journal))) return;
  throw usageError(`--journal: ${visible(journal)} does not exist`, "check the path; only `run` creates a journal");
}

function helpOf([verb = ""]: readonly string[]): string {
  return COMMANDS.includes(verb) && verb !== "help" ? `showrunner ${verb} --help` : "showrunner --help";
}

const examples = `
Examples:
  showrunner init                                                create a starter pipeline
  showrunner plan recipes/talking-avatar.ts                      see what it costs and how long it takes
  showrunner run recipes/talking-avatar.ts -i script="Good day." --id hello --budget 2
  showrunner resume hello                                        continue after a crash, a stop or an empty wallet
  showrunner report hello                                        write one page with results, media and costs
  showrunner dashboard                                           watch every run live in the browser
  showrunner api /usage --query group_by=model                   call any endpoint of the service
  showrunner serve                                               start the local service for any API client
`;
