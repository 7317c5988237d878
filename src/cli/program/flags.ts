import { DEPLOYMENTS, type ServiceName } from "../../core/kit/deployments.ts";
import { choice, type Flag, type FlagsOf, flag, host, list, preset, required } from "./option.ts";

const local = flag("--local", "use the local service on this machine, whatever the environment says");
const journal = flag(
  "--journal <place>",
  "the journal: a file or postgres://… (default: SHOWRUNNER_JOURNAL, then .showrunner/journal.db)",
);
const service = choice(
  "--service <name>",
  "a hosted service by name (default: SHOWRUNNER_SERVICE)",
  Object.keys(DEPLOYMENTS) as readonly ServiceName[],
);
const baseUrl = flag("--base-url <url>", "v3 address of the service (default: SHOWRUNNER_BASE_URL)");
const json = flag("--json", "print one JSON document on stdout");

/** Of every command that reads a journal or calls a service. */
const common = [
  local,
  journal,
  service,
  baseUrl,
  flag("--media <folder|s3-url>", "where media are kept (default: SHOWRUNNER_MEDIA, then media beside the journal)"),
  json,
];

/** The key's limit, for commands that send or foretell many requests. */
const rate = [
  flag("--rate-limit <requests/seconds>", "what the key may send, e.g. 600/60 (default: learnt from the service)"),
  flag(
    "--turns <tag>",
    "where requests wait, turns go round between the values of this tag, with weights: customer or customer,acme=3 (default: between runs)",
  ),
];

/** Limits over all runs of the account, for commands that may spend. */
const spending = [
  flag("--spending-cap <usd>", "what all runs of the journal may spend together (default: SHOWRUNNER_SPENDING_CAP)"),
  list(
    "--cap <cap>",
    "what runs may spend in a day, with a tag, or both: 50/day, team=video:10/day, team=*:100; repeatable (default: SHOWRUNNER_CAPS)",
  ),
  flag(
    "--cap-time-zone <zone>",
    "whose days they are, e.g. Europe/Berlin (default: SHOWRUNNER_CAP_TIME_ZONE, then UTC)",
  ),
  flag("--wallet-floor <usd>", "what must stay in the wallet (default: SHOWRUNNER_WALLET_FLOOR)"),
];

/** For commands that drive one run and could stay for it. */
const waitForCap = flag(
  "--wait-for-cap <duration>",
  "when a daily cap is reached, wait for the next day, for this long at most: 30h, 7d",
);

/** Who is notified, for commands that drive runs. */
const notify = flag(
  "--notify <target>",
  "where to send a notification when a run waits, needs funds, fails or ends: a URL, command:PROGRAM or off (default: SHOWRUNNER_NOTIFY_URL or _COMMAND)",
);

/** What is known of models beyond their schemas, for commands that check inputs. */
const families = flag(
  "--families <file>",
  "rules, prices and durations of model families, over the built-in ones (default: SHOWRUNNER_FAMILIES)",
);

/** For commands that make plans: what is known of models, and what inputs may have this machine read. */
const planning = [
  families,
  list(
    "--inside <origin>",
    "an origin of your own network, or of this machine, that inputs may name URLs of: http://assets.corp:8080; repeatable",
  ),
  flag("--files <folder>", "the folder that uploaded files must lie in (default: any; of mcp: that of the pipelines)"),
];

/** Of commands that take a pipeline's input; `tables` are the rest. */
const input = [
  list(
    "-i <key=value>",
    "one field of the input; key:=json for anything but text, key=@rows.csv or @value.json for a file",
  ),
  flag("--input <json|@file>", "the pipeline's input"),
];

const tables = [
  flag("--encoding <name>", "how tables are written (default: UTF-8 or UTF-16, as found)"),
  flag("--delimiter <character>", "what divides the cells of a table (default: comma, semicolon or tab, as found)"),
];

/** For commands that price. */
const maxUnquoted = flag("--max-unquoted <usd>", "allow jobs that cannot be priced in advance, up to this much each");

/** For commands that take one run a row. */
const rows = [
  flag(
    "--each <file>",
    "one run for each row of a .csv, .tsv or .jsonl file; repeating the command continues, and starts no row twice",
  ),
  flag("--id-column <name>", "with --each: the column that names the runs (default: one named id or name)"),
];

const profile = flag("--profile <name>", "one of the pipeline's profiles, such as draft");
const giveUpAfter = flag(
  "--give-up-after <duration>",
  "pause when the service is unavailable for this long: 5m (default), 90s, never",
);

/** Engines by the names of their flags. `timers`: this process's own. */
const engine = (description: string) => choice("--engine <name>", description, ["timers", "pg-boss", "restate"]);
const engineUrl = flag(
  "--engine-url <url>",
  "with --engine pg-boss: its database (default: that of the journal); restate: http://…",
);

const decision = [
  flag("--note <text>", "stored in the journal with the decision"),
  flag("--resume", "resume the run at once, when no process drives it"),
];
const ofTag = list("--tag <key=value>", "only runs with this tag; repeatable: with all of them");
const notifying = [notify, journal, json];
const limit = flag("--limit <n>", "list at most this many");

/** The options of every command, in the order in which its help has them: what people need every day first. */
export const options = {
  run: [
    ...input,
    flag("--budget <usd>", "the most that the run may cost"),
    ...common,
    flag("--id <id>", "name of the run (default: generated)"),
    preset(
      choice(
        "--on-existing <what>",
        "when a run of this --id exists: resume it where plan and input are the same (one under way is followed), or fail",
        ["resume", "fail"],
      ),
      "resume",
    ),
    flag("--out <dir>", "folder of the returned files"),
    ...rows,
    flag("--at-once <n>", "with --each: runs at a time (default: 4)"),
    list("--tag <key=value>", "label of the run, to list and cap runs by; repeatable"),
    flag("--quote <id>", "start only what this quote of `plan` was for, at no more than its maximum"),
    flag("--start-anyway", "start although the wallet does not hold the least that the plan costs"),
    flag("--concurrency <limits>", "jobs at a time: 8, or total=8,video=2"),
    profile,
    flag("--marks", "let returned files say that a machine made them; see docs/marks.md"),
    flag("--reuse", "reuse results of earlier runs with identical inputs, at no cost"),
    giveUpAfter,
    flag("--detach", "run in a background process; prints the run's id and how to follow it"),
    engine("with --detach: leave the run to the workers of this engine"),
    engineUrl,
    maxUnquoted,
    ...spending,
    waitForCap,
    notify,
    ...rate,
    ...planning,
    ...tables,
  ],
  plan: [
    ...input,
    ...common,
    ...rows,
    flag("--id <id>", "with --each: the name of the rows together, as run takes it (default: that of the file)"),
    flag("--concurrency <limits>", "jobs at a time for the forecast: 8, or total=8,video=2"),
    profile,
    flag("--reuse", "price results that earlier runs with identical inputs have at zero"),
    flag("--against <run-id|file>", "say what differs from a run's plan or from another file, and what that costs"),
    flag("--mermaid", "print the plan as a Mermaid flowchart"),
    flag("--svg <file>", "draw the plan into an SVG file"),
    maxUnquoted,
    ...rate,
    ...planning,
    ...tables,
  ],
  resume: [
    flag("--budget <usd>", "a new budget, replacing the run's own"),
    flag("--yes", "accept the price of the steps that run again"),
    ...common,
    flag("--agree <usd>", "what a run with a shared budget may cost by itself, where it asks for that"),
    flag("--quote <id>", "run again only what this quote was for, at no more than its maximum"),
    flag("--max-unquoted <usd>", "likewise for the most that a job without a price in advance may cost"),
    flag(
      "--wait-for-funds <duration>",
      "when the wallet is short, wait this long for funds before pausing: 30m, 2h, 90s",
    ),
    giveUpAfter,
    flag("--file <file[#export]>", "the pipeline as it is now; says what changed since the run was planned"),
    flag("--accept-changes", "apply code changes: run changed and new steps, and all that depend on them, again"),
    flag(
      "--input <json|@file>",
      "corrected fields of the run's input; compared, priced and accepted like changed code",
    ),
    list(
      "-i <key=value>",
      "one corrected field of the input; key:=json for anything but text, key=@rows.csv or @value.json for a file",
    ),
    list(
      "--edit <step:field=value>",
      "a field of a job's or chat's input, from now on; step:field:=json for anything but text, step:field=@file; repeatable",
    ),
    flag("--everywhere", "with --edit: replace that text in other steps too"),
    flag("--no-everywhere", "with --edit: leave it there"),
    flag(
      "--redo <step>",
      "make again what this step is, or what an approval shows, as `revise` of the code changes it by --note",
    ),
    flag("--note <text>", "with --edit: why, stored in the journal; with --redo: what should be different"),
    list("--rerun <step>", "run this step and all that depend on it again; * matches any characters; repeatable"),
    flag("--rerun-failed", "rerun every step that failed, wholly or in part, and all that depend on it"),
    flag("--same-seed", "rerun even what the seed in the code makes the same"),
    flag("--account-moved", "the account has a new key, or the service a new address; checked by a job of the run"),
    flag("--request-id <id>", "idempotency id of a rerun: repeating it does not start another one"),
    ...spending,
    waitForCap,
    notify,
    ...rate,
    ...planning,
    ...tables,
  ],
  adopt: common,
  approve: [
    ...common,
    flag("--pick <n>", "the one chosen, where the step asks for a choice: its number, from 1, or its step"),
    flag("--value <text>", "approve this in place of the text or value shown; @file reads it (.json as JSON)"),
    ...decision,
  ],
  reject: [...common, ...decision],
  "review-link": [
    ...common,
    list("--tag <key=value>", "runs with this tag; repeatable: with all of them"),
    flag("--expires <duration>", "how long it is valid, up to 90d (default: 7d)"),
    flag("--max-uses <n>", "decisions and comments that it takes in all (default: 500)"),
    flag("--public-url <url>", "the address that clients reach (default: SHOWRUNNER_PUBLIC_URL, then this machine)"),
    flag("--list", "list the links of the journal instead"),
    flag("--revoke <id>", "end one instead"),
  ],
  stop: common,
  check: [
    ...common,
    ...planning,
    required(flag("--against <journal>", "the journal of those runs, or a copy of it; nothing is written to it")),
  ],
  runs: [...common, ofTag, flag("--search <words>", "only runs whose name, tags or input hold all these words")],
  show: common,
  open: [...common, flag("--print", "only print the paths")],
  report: [
    ...common,
    flag(
      "--out <file.html>",
      "where to write it (default: report.html in the run's folder, where that lies below this one)",
    ),
    choice("--for <whom>", "what it returned, without steps, texts and costs", ["client"]),
    flag("--prices", "with --for client: with what it cost, to the cent"),
  ],
  export: [
    ...common,
    flag("--otio <file>", "OpenTimelineIO, which most editing programs open"),
    flag("--of <name>", "which of the returned results (default: the first film)"),
  ],
  statement: [
    ...common,
    ofTag,
    flag("--month <yyyy-mm>", "by the day of the charge, UTC (default: this month)"),
    flag("--markup <percent>", "added to what they cost: 20%"),
    flag("--csv", "for spreadsheets"),
    flag("--html", "a page for the client, without what the runs cost where --markup is given"),
  ],
  events: [...common, flag("--follow", "keep printing until the run ends or pauses")],
  reconcile: common,
  marks: [flag("--trust <file>", "certificates of signers that you trust, PEM"), flag("--json", "one JSON document")],
  sign: [
    flag("--cert <file>", "your certificate and those that lead to its root, PEM"),
    flag("--key <file>", "its private key, PEM"),
    flag("--out <path>", "signed file, or a folder that is there (default: NAME.signed.EXT beside each)"),
    choice("--source-type <type>", "how a file without manifest and mark was made", [
      "trainedAlgorithmicMedia",
      "compositeWithTrainedAlgorithmicMedia",
    ]),
    flag("--json", "one JSON document"),
  ],
  gc: [
    ...common,
    preset(flag("--older-than <duration>", "how long ago a run must have ended"), "30d"),
    flag("--dry-run", "only list what would be removed"),
  ],
  balance: common,
  doctor: [
    ...common,
    flag("--webhook-url <url>", "a public address that should lead to this machine"),
    flag("--webhook-port <port>", "the port on this machine that it leads to; listened on for a moment"),
  ],
  migrate: [
    families,
    required(flag("--out <dir>", "folder that pipeline.ts, models.ts, report.md and report.json are written to")),
    list("--map <v2=v3>", "the v3 model for a v2 slug, or the v3 voice for a v2 one; may be given again"),
    flag(
      "--decisions <file>",
      "file that keeps --map and answers, so that no question is repeated (default: migrate.decisions.json, where it exists)",
    ),
    flag("--catalog <file>", "the models to migrate to (default: those of the service)"),
    flag("--verify", "run the pipeline on a local service and compare what it makes with what v2 would make"),
    flag("--force", "overwrite a pipeline.ts that was edited since it was written"),
    local,
    service,
    baseUrl,
    flag("--json", "print the report as one JSON document on stdout"),
  ],
  dashboard: [
    ...common,
    ...planning,
    flag("--port <number>", "port to listen on; 0 takes a free one (default: 8788, or a free one when that is in use)"),
    preset(host("address to listen on; beyond this machine only when you say so"), "127.0.0.1"),
    list(
      "--allow-host <name>",
      "a further name or address that browsers may reach it by, as behind a proxy; may be repeated",
    ),
    flag(
      "--public-url <url>",
      "where a proxy passes review links on to here, as https://review.example.com; nothing else is answered there (default: SHOWRUNNER_PUBLIC_URL)",
    ),
    flag("--viewers", "print a second address too, for looking only: its holder changes nothing"),
  ],
  worker: [
    ...common,
    ...rate,
    ...spending,
    notify,
    ...planning,
    flag("--once", "exit when no resumable run is left; exit code 3 if a run could not be driven"),
    flag(
      "--wait-for-funds <duration>",
      "when the wallet is short, wait this long for funds before leaving the run paused, e.g. 30m",
    ),
    engine("what hands runs to workers (default: timers, those of this process)"),
    engineUrl,
    flag("--pipelines <dir>", "folder of the pipeline files of runs with functions (default: this one)"),
    flag("--slices <n>", "runs driven at a time (default: 16)"),
    choice("--local-work <where>", "functions run as jobs of their own, or inline in the slice", [
      "delegated",
      "inline",
    ]),
    flag("--health-port <number>", "answers /healthz, /readyz and /metrics there"),
    flag("--webhooks <port>", "takes webhooks of the service there, for the jobs of every run of the journal"),
    host(
      "address that --health-port and --webhooks listen on; beyond this machine only when you say so (default: 127.0.0.1)",
    ),
    flag("--drain <duration>", "time for what is under way when it is stopped (default: 30s)"),
  ],
  mcp: [
    ...common,
    ...spending,
    notify,
    ...planning,
    flag(
      "--budget <usd>",
      "what runs that it starts may cost together, while this server runs (default: none may start)",
    ),
    flag("--run-budget <usd>", "what one of them may cost (default: its quote)"),
    maxUnquoted,
    flag("--allow-approve", "let it decide what runs ask of a person"),
    flag("--ask", "let it have the person at its side asked for decisions, and for a run above --run-budget"),
    flag("--http", "serve streamable HTTP on this machine instead, behind a token"),
    flag("--port <number>", "port for --http; 0 takes a free one (default: 8789)"),
  ],
  "notify test": notifying,
  "notify key": notifying,
  "notify list": notifying,
  serve: [
    families,
    preset(flag("--port <number>", "port to listen on; 0 takes a free one"), "8787"),
    preset(host("address to listen on"), "127.0.0.1"),
    preset(flag("--data <dir>", "folder that keeps jobs, wallet and media"), ".showrunner/local"),
    preset(flag("--balance <usd>", "what a new wallet holds"), "25"),
    flag(
      "--key-file <file>",
      "credential to accept, as ID:SECRET in a file; or SHOWRUNNER_SERVE_KEY (default: generated, then stored in the data folder)",
    ),
    flag("--key <id:secret>", "the same, where every process of this machine can read it: for throw-away keys only"),
    flag("--rate-limit <requests/seconds>", "requests allowed per window, e.g. 600/60"),
    flag("--max-running <n>", "jobs rendered at a time"),
    flag("--speed <factor>", "how much faster than real rendering times pass"),
    flag("--retention <duration>", "how long outputs are kept after their submit (default 24h)"),
    flag("--url-life <duration>", "how long a download URL is valid (default 1h)"),
    flag("--strict", "answer exactly as a hosted service would, timings aside"),
    choice("--as-of <version>", "which published state of the API to answer as (default: today)", ["3.9", "today"]),
    flag(
      "--deliver-to-loopback",
      "let webhooks and log drains lead to this machine (default: on loopback, but not with --strict)",
    ),
    flag("--catalog <file>", "models to offer instead of the built-in ones"),
    flag("--open-catalog", "answer reads of models and voices without a credential, as some hosted services do"),
    choice(
      "--unquotable-cost <what>",
      "cost in an estimate that cannot be made: clients may expect a number (default: null; with --strict, refuse)",
      ["null", "zero", "omit", "refuse"],
    ),
    flag("--faults <file>", "faults to inject, as a JSON file"),
    flag("--stub", "tiny valid media at once, instead of real ones"),
    flag("--brand <name>", "name in the X-<Brand>-… headers"),
    flag("--replay <folder>", "answer as showrunner record wrote"),
    preset(choice("--replay-speed <speed>", "of its jobs", ["fast", "real"]), "fast"),
    flag("--or-local", "serve what is not recorded too"),
    flag("--json", "print address and key as one JSON document"),
  ],
  record: [
    service,
    baseUrl,
    preset(flag("--port <number>", "0 takes a free one"), "8790"),
    flag("--keep-media", "keep outputs too"),
  ],
  init: [flag("--recipe [name]", "copy a recipe with what it needs instead; without a name, list the recipes"), json],
  "skills install": [
    flag("--dir <folder>", "folder of the agent's skills (default: .claude/skills)"),
    flag("--force", "overwrite one that differs"),
    json,
  ],
  completion: [],
  "models list": [flag("--modality <kind>", "image, video, audio or text"), limit, ...common],
  "models show": common,
  "models pull": [flag("--out <dir>", "folder of catalog.json and models.ts (default: this one)"), ...common],
  "models voices": [
    flag("--search <text>", "a name, part of one, or what the voice is like"),
    flag("--gender <gender>", "with --search: male or female"),
    flag("--language <code>", "with --search: two letters"),
    limit,
    ...common,
  ],
  "models diff": [
    ...common,
    flag("--snapshot <file>", "the earlier catalog (default: catalog.json)"),
    flag("--with <file>", "compare with this catalog instead of the service's"),
    flag("--input <json|@file>", "the pipelines' input, where it has no defaults"),
    list("-i <key=value>", "one field of it; key:=json for anything but text"),
  ],
  "jobs list": [flag("--model <id>", "only of this model"), limit, ...common],
  "jobs get": common,
  "jobs follow": common,
  "files upload": common,
  api: [
    ...common,
    flag("--data <json|@file|->", "the body: JSON, a file of it, or - for stdin; without a method it is a POST"),
    list("--query <name=value>", "one parameter of the address; repeatable"),
    list("--header <name:value>", "one more header; repeatable"),
    flag("--idempotency-key <key>", "of a submit (default: its idempotency_key, or generated)"),
    flag("--yes", "agree to the price"),
  ],
} as const satisfies { readonly [command: string]: readonly Flag[] };

/** What each command gets, by its name. */
export type Flags = { readonly [C in keyof typeof options]: FlagsOf<(typeof options)[C][number]> };

/** Flags of every command that reads a journal or calls a service; limits, notifications and files of those that have them. */
export type ServiceFlags = FlagsOf<
  (typeof common | typeof rate | typeof spending | typeof planning | typeof notifying)[number]
>;

/** How a table is written, where that is not to be found out. */
export type TableFlags = FlagsOf<(typeof tables)[number]>;
