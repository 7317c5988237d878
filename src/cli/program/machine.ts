import { Argument, type Command, Option } from "commander";
import {
  type Act,
  collect,
  engineOption,
  engineUrlOption,
  hostOption,
  serviceOption,
  withFamilies,
  withNotify,
  withPlanning,
  withRateLimit,
  withService,
  withSpending,
} from "./flags.ts";

/** Commands that serve on this machine. */
export function addServing(program: Command, act: Act): void {
  withPlanning(withService(program.command("dashboard [files...]")))
    .description("watch and control runs in a browser; pipelines named here can be planned and started there")
    .option(
      "--port <number>",
      "port to listen on; 0 takes a free one (default: 8788, or a free one when that is in use)",
    )
    .addOption(hostOption("address to listen on; beyond this machine only when you say so").default("127.0.0.1"))
    .option(
      "--allow-host <name>",
      "a further name or address that browsers may reach it by, as behind a proxy; may be repeated",
      collect,
    )
    .option(
      "--public-url <url>",
      "where a proxy passes review links on to here, as https://review.example.com; nothing else is answered there (default: SHOWRUNNER_PUBLIC_URL)",
    )
    .option("--viewers", "print a second address too, for looking only: its holder changes nothing")
    .action(act(async () => (await import("../commands/dashboard.ts")).dashboard));
  withPlanning(withNotify(withSpending(withRateLimit(withService(program.command("worker"))))))
    .description("run all resumable runs of the journal, as decisions come in")
    .option("--once", "exit when no resumable run is left; exit code 3 if a run could not be driven")
    .option(
      "--wait-for-funds <duration>",
      "when the wallet is short, wait this long for funds before leaving the run paused, e.g. 30m",
    )
    .addOption(engineOption("what hands runs to workers (default: timers, those of this process)"))
    .addOption(engineUrlOption())
    .option("--pipelines <dir>", "folder of the pipeline files of runs with functions (default: this one)")
    .option("--slices <n>", "runs driven at a time (default: 16)")
    .addOption(
      new Option("--local-work <where>", "functions run as jobs of their own, or inline in the slice").choices([
        "delegated",
        "inline",
      ]),
    )
    .option("--health-port <number>", "answers /healthz, /readyz and /metrics there")
    .option("--webhooks <port>", "takes webhooks of the service there, for the jobs of every run of the journal")
    .addOption(
      hostOption(
        "address that --health-port and --webhooks listen on; beyond this machine only when you say so (default: 127.0.0.1)",
      ),
    )
    .option("--drain <duration>", "time for what is under way when it is stopped (default: 30s)")
    .action(act(async () => (await import("../commands/worker.ts")).worker));
  addAgents(program, act);
  addNotify(program, act);
  withFamilies(program.command("serve"))
    .description("run the local service: the whole API on this machine, with play money")
    .option("--port <number>", "port to listen on; 0 takes a free one", "8787")
    .addOption(hostOption("address to listen on").default("127.0.0.1"))
    .option("--data <dir>", "folder that keeps jobs, wallet and media", ".showrunner/local")
    .option("--balance <usd>", "what a new wallet holds", "25")
    .option(
      "--key-file <file>",
      "credential to accept, as ID:SECRET in a file; or SHOWRUNNER_SERVE_KEY (default: generated, then stored in the data folder)",
    )
    .option("--key <id:secret>", "the same, where every process of this machine can read it: for throw-away keys only")
    .option("--rate-limit <requests/seconds>", "requests allowed per window, e.g. 600/60")
    .option("--max-running <n>", "jobs rendered at a time")
    .option("--speed <factor>", "how much faster than real rendering times pass")
    .option("--retention <duration>", "how long outputs are kept after their submit (default 24h)")
    .option("--url-life <duration>", "how long a download URL is valid (default 1h)")
    .option("--strict", "answer exactly as a hosted service would, timings aside")
    .addOption(
      new Option("--as-of <version>", "which published state of the API to answer as (default: today)").choices([
        "3.9",
        "today",
      ]),
    )
    .option(
      "--deliver-to-loopback",
      "let webhooks and log drains lead to this machine (default: on loopback, but not with --strict)",
    )
    .option("--catalog <file>", "models to offer instead of the built-in ones")
    .option("--open-catalog", "answer reads of models and voices without a credential, as some hosted services do")
    .addOption(
      new Option(
        "--unquotable-cost <what>",
        "cost in an estimate that cannot be made: clients may expect a number (default: null; with --strict, refuse)",
      ).choices(["null", "zero", "omit", "refuse"]),
    )
    .option("--faults <file>", "faults to inject, as a JSON file")
    .option("--stub", "tiny valid media at once, instead of real ones")
    .option("--brand <name>", "name in the X-<Brand>-… headers")
    .option("--replay <folder>", "answer as showrunner record wrote")
    .addOption(new Option("--replay-speed <speed>", "of its jobs").choices(["fast", "real"]).default("fast"))
    .option("--or-local", "serve what is not recorded too")
    .option("--json", "print address and key as one JSON document")
    .action(act(async () => (await import("../commands/serve.ts")).serve));
  program
    .command("record <folder>")
    .description(
      "record what a hosted service answers, for tests that replay it. Left out: credentials in headers of requests, cookies, fields named like a secret, keys and tokens of known forms, and queries of addresses. Look at a recording before you publish it.",
    )
    .addOption(serviceOption())
    .option("--base-url <url>", "v3 address of the service (default: SHOWRUNNER_BASE_URL)")
    .option("--port <number>", "0 takes a free one", "8790")
    .option("--keep-media", "keep outputs too")
    .action(act(async () => (await import("../commands/record.ts")).record));
  program
    .command("init [file]")
    .description(
      "write a pipeline for the models of the service that is there, and what the folder needs to run it: package.json, tsconfig.json; overwrites nothing",
    )
    .option("--recipe [name]", "copy a recipe with what it needs instead; without a name, list the recipes")
    .option("--json", "print one JSON document on stdout")
    .action(act(async () => (await import("../commands/init.ts")).init));
  program
    .command("skills")
    .description("teach coding agents to work with pipelines")
    .command("install")
    .description("write a skill, SKILL.md, from which coding agents learn to write, price, run and repair pipelines")
    .option("--dir <folder>", "folder of the agent's skills (default: .claude/skills)")
    .option("--force", "overwrite one that differs")
    .option("--json", "print one JSON document on stdout")
    .action(act(async () => (await import("../commands/skills.ts")).installSkills));
  program
    .command("completion")
    .description("print the script that completes commands and flags in a shell: source <(showrunner completion bash)")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .argument("[words...]", "what was typed so far, after --; prints what may follow")
    .action(act(async () => (await import("../commands/completion.ts")).completion));
}

function addAgents(program: Command, act: Act): void {
  withPlanning(withNotify(withSpending(withService(program.command("mcp <folder>")))))
    .description("offer the pipelines of a folder to an AI agent by the Model Context Protocol, on stdin and stdout")
    .option(
      "--budget <usd>",
      "what runs that it starts may cost together, while this server runs (default: none may start)",
    )
    .option("--run-budget <usd>", "what one of them may cost (default: its quote)")
    .option("--max-unquoted <usd>", "allow jobs that cannot be priced in advance, up to this much each")
    .option("--allow-approve", "let it decide what runs ask of a person")
    .option("--ask", "let it have the person at its side asked for decisions, and for a run above --run-budget")
    .option("--http", "serve streamable HTTP on this machine instead, behind a token")
    .option("--port <number>", "port for --http; 0 takes a free one (default: 8789)")
    .action(act(async () => (await import("../commands/mcp.ts")).mcp));
}

function addNotify(program: Command, act: Act): void {
  const group = program.command("notify").description("notify people of runs by a signed webhook or a command");
  const add = (name: string, said: string) =>
    withNotify(group.command(name))
      .description(said)
      .option(
        "--journal <place>",
        "the journal: a file or postgres://… (default: SHOWRUNNER_JOURNAL, then .showrunner/journal.db)",
      )
      .option("--json", "print one JSON document on stdout");
  add("test", "send a test notification").action(act(async () => (await import("../commands/notify.ts")).testNotify));
  add("key", "print the public key that its webhooks are verified with").action(
    act(async () => (await import("../commands/notify.ts")).notifyKey),
  );
  add("list", "list undelivered notifications, and why").action(
    act(async () => (await import("../commands/notify.ts")).listNotices),
  );
}
