import { DEPLOYMENTS, type ServiceName } from "../../core/kit/deployments.ts";
import { choice, type FlagsOf, type FlagTable, list, preset, required } from "./option.ts";

const local = { "--local": "use the local service on this machine, ignoring service settings in the environment" };
const journal = {
  "--journal <place>": "journal file or postgres://… URL (default: SHOWRUNNER_JOURNAL, then .showrunner/journal.db)",
};
const service = {
  "--service <name>": choice(
    "hosted service to use (default: SHOWRUNNER_SERVICE)",
    Object.keys(DEPLOYMENTS) as readonly ServiceName[],
  ),
};
const baseUrl = { "--base-url <url>": "v3 base URL of the service (default: SHOWRUNNER_BASE_URL)" };
const json = { "--json": "print one JSON document on stdout" };

const common = {
  ...local,
  ...journal,
  ...service,
  ...baseUrl,
  "--media <folder|s3-url>":
    "where to store media (default: SHOWRUNNER_MEDIA, then the folder media next to the journal)",
  ...json,
};

const rate = {
  "--rate-limit <requests/seconds>": "rate limit of your key, such as 600/60 (default: learned from the service)",
  "--turns <tag>":
    "split the rate limit among a tag's values, evenly (`--turns client`) or by weight (`--turns client,acme=3`); by default, it is split evenly among runs",
};

const spending = {
  "--spending-cap <usd>": "maximum total spending of all runs in the journal (default: SHOWRUNNER_SPENDING_CAP)",
  "--cap <cap>": list(
    "maximum spending per day, per tag, or both: 50/day, team=video:10/day, team=*:100; repeatable (default: SHOWRUNNER_CAPS)",
  ),
  "--cap-time-zone <zone>":
    "time zone for daily caps, such as Europe/Berlin (default: SHOWRUNNER_CAP_TIME_ZONE, then UTC)",
  "--wallet-floor <usd>": "minimum balance to keep in the wallet (default: SHOWRUNNER_WALLET_FLOOR)",
};

const waitForCap = {
  "--wait-for-cap <duration>":
    "longest total time to wait for daily caps to reset, such as 30h or 7d (default: pause when a cap is reached)",
};

const notify = {
  "--notify <target>":
    "where to send notifications when a run waits, needs funds, fails or ends: a URL, command:PROGRAM or off (default: SHOWRUNNER_NOTIFY_URL or SHOWRUNNER_NOTIFY_COMMAND)",
};

const families = {
  "--families <file>":
    "file with rules, prices and durations of model families, overriding the built-in ones (default: SHOWRUNNER_FAMILIES)",
};

const planning = {
  ...families,
  "--inside <origin>": list(
    "allow input URLs on this origin (such as http://assets.corp:8080), even if it is on your network or this machine; repeatable",
  ),
  "--files <folder>": "only upload files from this folder (default: any folder; for mcp, the pipelines folder)",
};

/** Options for a pipeline's input. Commands that accept them also accept those in `tables`. */
const input = {
  "-i <key=value>": list(
    "one input field; key:=json for values other than text, key=@rows.csv or key=@value.json to read a file",
  ),
  "--input <json|@file>": "the pipeline's input",
};

const tables = {
  "--encoding <name>": "encoding of table files (default: UTF-8 or UTF-16, auto-detected)",
  "--delimiter <character>": "column delimiter in table files (default: comma, semicolon or tab, auto-detected)",
};

const maxUnquoted = { "--max-unquoted <usd>": "allow jobs that cannot be priced in advance, up to this amount each" };

const rows = {
  "--each <file>":
    "one run per row of a .csv, .tsv or .jsonl file; to continue after an interruption, run the same command again (no row is run twice)",
  "--id-column <name>": "column that contains the run ids (with --each; default: id or name)",
};

const profile = { "--profile <name>": "pipeline profile to use, such as draft" };
const giveUpAfter = {
  "--give-up-after <duration|never>":
    'pause once the service has been unavailable for this long, such as 90s; "never" waits without a limit (default: 5m)',
};

const engine = (description: string) => ({
  "--engine <name>": choice(description, ["timers", "pg-boss", "restate"]),
});
const engineUrl = {
  "--engine-url <url>": "URL of the pg-boss database (default: the journal's), or of the Restate ingress (http://…)",
};

const decision = {
  "--note <text>": "comment to store with the decision",
  "--resume": "also resume the run if no process is executing it",
  ...spending,
};
const ofTag = { "--tag <key=value>": "only runs with this tag; repeat to require several tags" };
const notifying = { ...notify, ...journal, ...json };
const limit = { "--limit <n>": "maximum number of entries to list" };

/** The options of each command, in the order in which its help lists them: most used first. */
export const options = {
  run: {
    ...input,
    "--budget <usd>": "maximum cost of the run",
    ...common,
    "--id <id>": "id of the run (default: generated)",
    "--on-existing <what>": preset(
      choice(
        'what to do if a run with this --id exists: "resume" continues it (or follows it if it is already running), provided that its plan and input are the same; "fail" refuses to start, and cannot be used with --each',
        ["resume", "fail"],
      ),
      "resume",
    ),
    "--out <dir>": "folder for the returned files",
    ...rows,
    "--at-once <n>": "maximum number of parallel runs (with --each; default: 4)",
    "--tag <key=value>": "tag for the run, used in lists and caps; repeatable, with one value per key",
    "--quote <id>":
      "start the run only if its plan is the one quoted under this id, and spend at most the quoted maximum (cannot be used with --each)",
    "--start-anyway": "start even if the wallet holds less than the plan's minimum cost",
    "--concurrency <limits>": "maximum number of parallel jobs, such as 8 or total=8,video=2",
    ...profile,
    "--marks": "mark returned files as AI-generated; see docs/marks.md",
    "--reuse": "reuse results of earlier runs with identical inputs, at no cost",
    ...giveUpAfter,
    "--detach": "run in a background process; print the run's id and how to follow it",
    ...engine("with --detach, hand the run to this engine's workers"),
    ...engineUrl,
    ...maxUnquoted,
    ...spending,
    ...waitForCap,
    ...notify,
    ...rate,
    ...planning,
    ...tables,
  },
  plan: {
    ...input,
    ...common,
    ...rows,
    "--id <id>":
      "with --each, prefix for the run ids; use the same prefix as with `showrunner run` (default: the file's name)",
    "--concurrency <limits>": "maximum number of parallel jobs in the forecast, such as 8 or total=8,video=2",
    ...profile,
    "--reuse": "treat steps as free if they can reuse results of earlier runs with identical inputs",
    "--against <run-id|file>":
      "show what differs from a run's plan or from another pipeline file, and what the changes cost",
    "--mermaid": "print the plan as a Mermaid flowchart",
    "--svg <file>": "draw the plan as an SVG file",
    ...maxUnquoted,
    ...rate,
    ...planning,
    ...tables,
  },
  resume: {
    "--budget <usd>": "new budget, replacing the run's current one",
    "--yes": "accept the price of the steps to rerun",
    ...common,
    "--agree <usd>":
      "maximum cost of this run alone; for a run that shares a budget and is paused until you accept its price",
    "--quote <id>": "rerun only the steps in the quote with this id, and spend at most the quoted maximum",
    "--max-unquoted <usd>": "new maximum cost of each job that cannot be priced in advance",
    "--wait-for-funds <duration>":
      "when the wallet runs short, wait up to this long (such as 30m, 2h or 90s) for funds before pausing",
    ...giveUpAfter,
    "--file <file[#export]>": "the current pipeline file, to show what changed since the run was planned",
    "--accept-changes": "apply code changes by running new and changed steps, and all steps that depend on them",
    "--input <json|@file>":
      "corrections to the run's input fields; their effects and cost are shown before anything runs",
    "-i <key=value>": list(
      "one input field to correct; key:=json for values other than text, key=@rows.csv or key=@value.json to read a file",
    ),
    "--edit <step:field=value>": list(
      "change an input field of a job or chat; step:field:=json for values other than text, step:field=@file to read a file; repeatable",
    ),
    "--everywhere": "also replace the field's old text in other steps (with --edit)",
    "--no-everywhere": "leave the text in other steps unchanged (with --edit)",
    "--redo <step>":
      "redo this step or, if it is an approval, the steps whose outputs it presents; --note is passed to your `revise` function",
    "--note <text>": "what to change (with --redo), or the reason for the rerun or edit; stored in the journal",
    "--rerun <step>": list("rerun this step and all steps that depend on it; * matches any characters; repeatable"),
    "--rerun-failed": "rerun every step that failed or partly failed, and all steps that depend on it",
    "--same-seed": "rerun even if a fixed seed in the code is likely to give the same result",
    "--account-moved":
      "continue with the account's new key or the service's new address; refused if the service knows none of the run's jobs",
    "--request-id <id>":
      "idempotency id for a rerun, redo or edit: repeating the command with the same id has no further effect",
    ...spending,
    ...waitForCap,
    ...notify,
    ...rate,
    ...planning,
    ...tables,
  },
  adopt: common,
  approve: {
    ...common,
    "--pick <n|step>": "item to choose, if there are several: its number (from 1), or the step that made it",
    "--value <text>": "approve this instead of the text or value shown; @file reads a file (.json as JSON)",
    ...decision,
  },
  reject: { ...common, ...decision },
  "review-link": {
    ...common,
    "--tag <key=value>": "show runs with this tag; repeat to require several tags",
    "--expires <duration>": "how long the link is valid, up to 90d (default: 7d)",
    "--max-uses <n>": "maximum number of decisions and comments (default: 500)",
    "--public-url <url>": "public address of this server (default: SHOWRUNNER_PUBLIC_URL, or this machine's address)",
    "--list": "list the links in the journal instead of creating one",
    "--revoke <id>": "revoke the link with this id instead",
  },
  stop: common,
  check: {
    ...common,
    ...planning,
    "--against <journal>": required(
      "journal with the unfinished runs, or a copy of that journal; nothing is written to it",
    ),
  },
  runs: { ...common, ...ofTag, "--search <words>": "only runs whose name, tags or input contain all these words" },
  show: common,
  open: { ...common, "--print": "only print the paths" },
  report: {
    ...common,
    "--out <file.html>":
      "file to write (default: report.html in the run's folder, or report-<run-id>.html in the current folder if the run's folder is elsewhere)",
    "--for <whom>": choice(
      "who the report is for; a client sees only what the run returned, without steps, prompts or costs",
      ["client"],
    ),
    "--prices": "include the cost, rounded to the cent (only with --for client)",
  },
  export: {
    ...common,
    "--otio <file>": "OpenTimelineIO file to write; most video editors can open it",
    "--of <name>": "name of the returned result to export; a list is exported as a whole (default: the first video)",
  },
  statement: {
    ...common,
    ...ofTag,
    "--month <yyyy-mm>": "month to list, in UTC (default: the current month)",
    "--markup <percent>": "percentage to add to the costs, such as 20%",
    "--csv": "print CSV for spreadsheets",
    "--html": "print an HTML page for the client; it shows marked-up prices, not your costs",
  },
  events: { ...common, "--follow": "keep printing until the run ends or pauses" },
  reconcile: common,
  marks: { "--trust <file>": "PEM file with the certificates of the signers that you trust", ...json },
  sign: {
    "--cert <file>": "PEM file with your certificate first, then its issuers up to the root",
    "--key <file>": "PEM file with the certificate's private key",
    "--out <path>": "signed file to write, or an existing folder (default: NAME.signed.EXT next to each file)",
    "--source-type <type>": choice(
      "source type to record in the signature (default: the type in the manifest; if there is none, the type in the file's mark)",
      ["trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia"],
    ),
    ...json,
  },
  gc: {
    ...common,
    "--older-than <duration>": preset("remove runs that ended at least this long ago", "30d"),
    "--dry-run": "only list what would be removed",
  },
  balance: { ...common, ...spending },
  doctor: {
    ...common,
    "--webhook-url <url>": "public URL to check; it must forward to this machine",
    "--webhook-port <port>": "port on this machine that the URL forwards to; opened briefly for the check",
  },
  migrate: {
    ...families,
    "--out <dir>": required("folder to write pipeline.ts, models.ts, report.md and report.json to"),
    "--map <v2=v3>": list("v3 model to use for a v2 slug, or v3 voice to use for a v2 voice; repeatable"),
    "--decisions <file>":
      "file that stores your answers and the --map options, so that no question is asked twice (default: migrate.decisions.json, if it exists)",
    "--catalog <file>": "catalog of the models to migrate to (default: the service's)",
    "--verify": "run the pipeline on a local service and compare its results with what v2 would produce",
    "--force": "overwrite pipeline.ts even if it has been edited since it was generated",
    ...local,
    ...service,
    ...baseUrl,
    "--json": "print the report as one JSON document on stdout",
  },
  dashboard: {
    ...common,
    ...spending,
    ...planning,
    "--port <port|0>": "port to listen on; 0 picks a free one (default: 8788, or a free one if that is in use)",
    "--host <address>": preset("address to listen on; by default, only this machine can connect", "127.0.0.1"),
    "--allow-host <name>": list("additional hostname or address that browsers may use, such as a proxy's; repeatable"),
    "--public-url <url>":
      "public address of the proxy that forwards review links to this dashboard, such as https://review.example.com; at that address, the dashboard serves nothing else (default: SHOWRUNNER_PUBLIC_URL)",
    "--viewers": "also print a second, read-only address",
  },
  worker: {
    ...common,
    ...rate,
    ...spending,
    ...notify,
    ...planning,
    "--once": "exit when no resumable run is left; exit code 3 if a run could not be executed",
    "--wait-for-funds <duration>":
      "when the wallet runs short, wait up to this long (such as 30m) for funds before leaving the run paused",
    ...engine("engine that distributes runs to workers (default: timers, which run in this process)"),
    ...engineUrl,
    "--pipelines <dir>": "folder with the pipeline files, needed for runs with functions (default: the current one)",
    "--slices <n>": "maximum number of runs executed in parallel (default: 16)",
    "--local-work <where>": choice(
      "run functions as separate engine jobs, or inline while the worker executes the run",
      ["delegated", "inline"],
    ),
    "--health-port <port>": "serve /healthz, /readyz and /metrics on this port",
    "--webhooks <port>": "receive the service's webhooks on this port, for the jobs of all runs in the journal",
    "--host <address>":
      "address to listen on for --health-port and --webhooks (default: 127.0.0.1, which other machines cannot reach)",
    "--drain <duration>": preset("time allowed to finish work in progress when the worker is stopped", "30s"),
  },
  mcp: {
    ...common,
    ...spending,
    ...notify,
    ...planning,
    "--budget <usd>":
      "maximum total cost of all runs that agents start while this server runs (default: agents cannot start runs)",
    "--run-budget <usd>": "maximum cost of each run that an agent starts (default: the run's quote)",
    ...maxUnquoted,
    "--allow-approve": "let the agent approve or reject waiting steps",
    "--ask": "let the agent ask its user to make decisions, and to allow runs that cost more than --run-budget",
    "--http": "use streamable HTTP on this machine, protected by a token, instead of stdin and stdout",
    "--port <port|0>": "port for --http; 0 picks a free one (default: 8789)",
  },
  "notify test": notifying,
  "notify key": notifying,
  "notify list": notifying,
  serve: {
    ...families,
    "--port <port|0>": preset("port to listen on; 0 picks a free one", "8787"),
    "--host <address>": preset("address to listen on", "127.0.0.1"),
    "--data <dir>": preset("folder for jobs, wallet and media", ".showrunner/local"),
    "--balance <usd>": preset("starting balance of a new wallet", "25"),
    "--key-file <file>":
      "file with the credential to accept, ID:SECRET (default: SHOWRUNNER_SERVE_KEY, otherwise generated and stored in the data folder)",
    "--key <id:secret>": "credential to accept; every process on this machine can see it, so use only throwaway keys",
    "--rate-limit <requests/seconds>": "limit on requests; for example, 600/60 allows 600 requests in 60 seconds",
    "--max-running <n|0>": "maximum number of jobs that run in parallel",
    "--speed <factor>": "speed-up factor; with 20, jobs finish 20 times faster than on a real service",
    "--retention <duration>": "how long outputs are kept after submission (default: 24h)",
    "--url-life <duration>": "how long a download URL is valid (default: 1h)",
    "--strict": "answer exactly as a hosted service would, except for timings",
    "--as-of <version>": choice('published version of the API to emulate (default: "today")', ["3.9", "today"]),
    "--deliver-to-loopback":
      "allow webhooks and log drains to send to this machine (default: allowed when listening on loopback without --strict)",
    "--catalog <file>": "catalog of models to offer instead of the built-in ones",
    "--open-catalog": "serve models and voices without requiring a credential, as some hosted services do",
    "--unquotable-cost <what>": choice(
      "what an estimate returns as the cost if the job has no price; some clients require a number (default: null, or refuse with --strict)",
      ["null", "zero", "omit", "refuse"],
    ),
    "--faults <file>": "JSON file of faults to inject",
    "--stub": "return tiny valid media immediately instead of rendering",
    "--brand <name>": "brand name in the X-<Brand>-… headers",
    "--replay <folder>": "replay the responses that `showrunner record` saved in this folder",
    "--replay-speed <speed>": preset(
      choice('how fast to replay jobs; "real" is the original speed', ["fast", "real"]),
      "fast",
    ),
    "--or-local": "let the local service answer requests that were not recorded (with --replay)",
    "--json": "print the address and key as one JSON document",
  },
  record: {
    ...service,
    ...baseUrl,
    "--port <port|0>": preset("port to listen on; 0 picks a free one", "8790"),
    "--keep-media": "also save the jobs' output files",
  },
  init: { "--recipe [name]": "copy this recipe and its files instead; without a name, list the recipes", ...json },
  "skills install": {
    "--dir <folder>": "the agent's skills folder (default: .claude/skills)",
    "--force": "overwrite an existing skill that differs",
    ...json,
  },
  completion: {},
  "models list": {
    "--modality <kind>": choice("only models of this modality", ["image", "video", "audio", "text"]),
    ...limit,
    ...common,
  },
  "models show": common,
  "models pull": { "--out <dir>": "folder for catalog.json and models.ts (default: the current one)", ...common },
  "models voices": {
    "--search <text>": "full or partial name, or a description of the voice",
    "--gender <gender>": choice("only voices labeled male or female", ["male", "female"]),
    "--language <code>": "only voices labeled with this two-letter language code",
    ...limit,
    ...common,
  },
  "models diff": {
    ...common,
    "--snapshot <file>": "earlier catalog to compare with (default: catalog.json)",
    "--with <file>": "newer catalog (default: the service's current one)",
    "--input <json|@file>": "input for the pipelines; required if a pipeline has an input field without a default",
    "-i <key=value>": list("one input field; key:=json for values other than text"),
    ...tables,
  },
  "jobs list": { "--model <id>": "only jobs of this model", ...limit, ...common },
  "jobs get": common,
  "jobs follow": common,
  "files upload": common,
  api: {
    ...common,
    "--data <json|@file|->": "request body: JSON, @file, or - for stdin; the method then defaults to POST",
    "--query <name=value>": list("query parameter; repeatable"),
    "--header <name:value>": list("extra header; repeatable"),
    "--idempotency-key <key>":
      "idempotency key for submitting a job (default: idempotency_key in --data, or generated)",
    "--yes": "accept the price without asking",
  },
} as const satisfies { readonly [command: string]: FlagTable };

export type Flags = { readonly [C in keyof typeof options]: FlagsOf<(typeof options)[C]> };

export type ServiceFlags = FlagsOf<typeof common & typeof rate & typeof spending & typeof planning & typeof notifying>;

export type TableFlags = FlagsOf<typeof tables>;
