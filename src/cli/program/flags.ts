import { type Command, InvalidArgumentError, Option } from "commander";
import { DEPLOYMENTS } from "../../core/kit/deployments.ts";
import type { ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";

/** What a command performs: it gets its arguments, its flags and, last, itself. */
type Perform = (context: Context, ...given: never[]) => ExitCode | Promise<ExitCode>;

/** The action of a command, whose code is loaded when it is called, so that help stays quick. */
export type Act = (load: () => Promise<Perform>) => (...given: unknown[]) => Promise<void>;

/** Flags of every command that reads a journal or calls a service. */
export function withService(command: Command): Command {
  return command
    .option("--local", "use the local service on this machine, whatever the environment says")
    .option(
      "--journal <place>",
      "the journal: a file or postgres://… (default: SHOWRUNNER_JOURNAL, then .showrunner/journal.db)",
    )
    .addOption(serviceOption())
    .option("--base-url <url>", "v3 address of the service (default: SHOWRUNNER_BASE_URL)")
    .option(
      "--media <folder|s3-url>",
      "where media are kept (default: SHOWRUNNER_MEDIA, then media beside the journal)",
    )
    .option("--json", "print one JSON document on stdout");
}

export function serviceOption(): Option {
  return new Option("--service <name>", "a hosted service by name (default: SHOWRUNNER_SERVICE)").choices(
    Object.keys(DEPLOYMENTS),
  );
}

/** The key's limit, for commands that send or foretell many requests. */
export function withRateLimit(command: Command): Command {
  const said = "what the key may send, e.g. 600/60 (default: learnt from the service)";
  return command
    .option("--rate-limit <requests/seconds>", said)
    .option(
      "--turns <tag>",
      "where requests wait, turns go round between the values of this tag, with weights: customer or customer,acme=3 (default: between runs)",
    );
}

/** Limits over all runs of the account, for commands that may spend. */
export function withSpending(command: Command): Command {
  return command
    .option(
      "--spending-cap <usd>",
      "what all runs of the journal may spend together (default: SHOWRUNNER_SPENDING_CAP)",
    )
    .option(
      "--cap <cap>",
      "what runs may spend in a day, with a tag, or both: 50/day, team=video:10/day, team=*:100; repeatable (default: SHOWRUNNER_CAPS)",
      collect,
    )
    .option(
      "--cap-time-zone <zone>",
      "whose days they are, e.g. Europe/Berlin (default: SHOWRUNNER_CAP_TIME_ZONE, then UTC)",
    )
    .option("--wallet-floor <usd>", "what must stay in the wallet (default: SHOWRUNNER_WALLET_FLOOR)");
}

const WAIT_FOR_CAP = "when a daily cap is reached, wait for the next day, for this long at most: 30h, 7d";

/** For commands that drive one run and could stay for it. */
export function withWaitForCap(command: Command): Command {
  return command.option("--wait-for-cap <duration>", WAIT_FOR_CAP);
}

/** Who is notified, for commands that drive runs. */
export function withNotify(command: Command): Command {
  const said =
    "where to send a notification when a run waits, needs funds, fails or ends: a URL, command:PROGRAM or off";
  return command.option("--notify <target>", `${said} (default: SHOWRUNNER_NOTIFY_URL or _COMMAND)`);
}

/** What is known of models beyond their schemas, for commands that check inputs. */
export function withFamilies(command: Command): Command {
  const said = "rules, prices and durations of model families, over the built-in ones";
  return command.option("--families <file>", `${said} (default: SHOWRUNNER_FAMILIES)`);
}

/** For commands that make plans: what is known of models, and what inputs may have this machine read. */
export function withPlanning(command: Command): Command {
  return withFamilies(command)
    .option(
      "--inside <origin>",
      "an origin of your own network, or of this machine, that inputs may name URLs of: http://assets.corp:8080; repeatable",
      collect,
    )
    .option(
      "--files <folder>",
      "the folder that uploaded files must lie in (default: any; of mcp: that of the pipelines)",
    );
}

/** `-i` may be given again and again. */
export function addOption(command: Command, flags: string, description: string): void {
  if (flags.startsWith("-i ")) command.option(flags, description, collect);
  else command.option(flags, description);
}

export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Flags of every command that takes a pipeline's input; `withTables` has the rest. */
export function withInput(command: Command): Command {
  return command
    .option(
      "-i <key=value>",
      "one field of the input; key:=json for anything but text, key=@rows.csv or @value.json for a file",
      collect,
    )
    .option("--input <json|@file>", "the pipeline's input");
}

/** For commands that price. */
export function withUnquoted(command: Command): Command {
  return command.option("--max-unquoted <usd>", "allow jobs that cannot be priced in advance, up to this much each");
}

/** For commands that take one run a row. */
export function withRows(command: Command): Command {
  return command
    .option(
      "--each <file>",
      "one run for each row of a .csv, .tsv or .jsonl file; repeating the command continues, and starts no row twice",
    )
    .option("--id-column <name>", "with --each: the column that names the runs (default: one named id or name)");
}

/** Flags of every command that reads tables. */
export function withTables(command: Command): Command {
  return command
    .option("--encoding <name>", "how tables are written (default: UTF-8 or UTF-16, as found)")
    .option(
      "--delimiter <character>",
      "what divides the cells of a table (default: comma, semicolon or tab, as found)",
    );
}

/** Engines by the names of their flags. `timers`: this process's own. */
export const ENGINES = ["timers", "pg-boss", "restate"] as const;

export function engineOption(said: string): Option {
  return new Option("--engine <name>", said).choices(ENGINES);
}

export function engineUrlOption(): Option {
  return new Option(
    "--engine-url <url>",
    "with --engine pg-boss: its database (default: that of the journal); restate: http://…",
  );
}

/** Where a command listens: this machine alone, unless somebody says otherwise. An empty address would mean all of them. */
export function hostOption(said: string): Option {
  return new Option("--host <address>", said).argParser((given: string) => {
    if (given.trim() !== "") return given;
    throw new InvalidArgumentError("Name an address, or leave --host out.");
  });
}
