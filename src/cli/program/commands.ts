import { Argument, type Command, Option } from "commander";
import type { ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { options } from "./flags.ts";
import type { Flag } from "./option.ts";

/** What a command performs: it gets its arguments, its flags and, last, itself. Loaded when it is called, so that help stays quick. */
type Load = () => Promise<(context: Context, ...given: never[]) => ExitCode | Promise<ExitCode>>;

/** The action of a command. */
export type Act = (load: Load) => (...given: unknown[]) => Promise<void>;

type Name = keyof typeof options;

/** Adds a command with its options. `usage`: its name and arguments. */
type Add = (usage: Name | `${Name} ${"<" | "["}${string}`, description: string, load: Load) => Command;

/** Every command, those that people need every day first. */
export function addCommands(program: Command, act: Act): void {
  const parents = new Map([["", program]]);
  const group = (name: string, description: string) =>
    parents.set(name, program.command(name).description(description));
  const add: Add = (usage, description, load) => {
    const [name, parent = ""] = /^(?:(\w+) )?[\w-]+/.exec(usage)!;
    const command = parents.get(parent)!.command(usage.slice(parent.length).trim());
    command.description(description).action(act(load));
    const given: readonly Flag[] = options[name as Name];
    for (const { flags, description, adjust } of given) {
      const option = new Option(flags, description);
      if (flags.endsWith(" <usd>")) option.argParser((text: string) => text.trim().replace(/^\$/, ""));
      command.addOption(adjust?.(option) ?? option);
    }
    return command;
  };
  program.commandsGroup("Pipelines:");
  addRunning(add);
  addMore(add);
  program.commandsGroup("This machine:");
  addServing(add, group);
  program.commandsGroup("The service:");
  addCalls(add, group);
}

/** Runs from their price to their result. */
function addRunning(add: Add): void {
  add("run <file[#export]>", "price a pipeline, run it, show how it goes", async () => {
    return (await import("../commands/run.ts")).run;
  });
  add("plan <file[#export]>", "check and price a pipeline; spends nothing", async () => {
    return (await import("../commands/plan.ts")).plan;
  });
  add("resume <run-id>", "resume a run that was killed, stopped or paused", async () => {
    return (await import("../commands/resume.ts")).resume;
  });
  add("runs", "list the runs of the journal", async () => (await import("../commands/runs.ts")).runs);
  add("show <run-id>", "show one run: steps, jobs, costs, files", async () => {
    return (await import("../commands/show.ts")).show;
  });
  add(
    "approve [run-id] [step]",
    "approve a waiting step; without a step, list the waiting steps of the run, or of all runs",
    async () => (await import("../commands/decide.ts")).approve,
  );
  add(
    "reject <run-id> <step>",
    "reject a step that waits for a person: it fails, and what uses it is skipped",
    async () => (await import("../commands/decide.ts")).reject,
  );
  add("stop <run-id>", "stop a run from submitting more jobs, whichever process drives it", async () => {
    return (await import("../commands/resume.ts")).stop;
  });
  add(
    "open <run-id> <step>",
    "open the files of a step, or what an approval shows; prints their paths too",
    async () => (await import("../commands/open.ts")).open,
  );
  add("report <run-id>", "write what happened into one HTML file, with the media in it", async () => {
    return (await import("../commands/report.ts")).report;
  });
  add("events <run-id>", "print what happened to a run", async () => (await import("../commands/events.ts")).events);
  add("balance", "show what is in the wallet, and what the runs of the journal spent and reserved", async () => {
    return (await import("../commands/balance.ts")).balance;
  });
  add("doctor", "check Node, settings, journal, media, disk space, service, clock and webhooks", async () => {
    return (await import("../commands/doctor.ts")).doctor;
  });
}

/** What runs need now and then. */
function addMore(add: Add): void {
  add(
    "review-link [run-id] [step]",
    "make a link on which a client decides what waits in some runs, and sees nothing else",
    async () => (await import("../commands/review-link.ts")).reviewLink,
  );
  add(
    "export <run-id>",
    "write a run's clips, takes, sounds and captions as a timeline for editing programs, its media beside it",
    async () => (await import("../commands/export.ts")).exportRun,
  );
  add("statement", "list what the runs of a client made and cost within a month", async () => {
    return (await import("../commands/statement.ts")).statement;
  });
  add("check <files...>", "show what these pipelines would change in unfinished runs; spends nothing", async () => {
    return (await import("../commands/check.ts")).check;
  });
  add(
    "adopt <run-id> [step] [job-id]",
    "resolve a submit without an answer: name the job it created, the file a provider made, or none; without a job, list the candidates; without a step, ask about each",
    async () => (await import("../commands/adopt.ts")).adopt,
  );
  add(
    "reconcile [run-id]",
    "list where the journal and the service differ: unknown jobs, unclaimed outputs, missing refunds",
    async () => (await import("../commands/reconcile.ts")).reconcile,
  );
  add(
    "marks <files...>",
    "say what files state of how they came about: source type, content credentials, manifest beside them",
    async () => (await import("../commands/marks.ts")).marks,
  );
  add(
    "sign <files...>",
    "sign copies of files with content credentials (C2PA): source type, models, and what they were made from",
    async () => (await import("../commands/marks.ts")).sign,
  );
  add(
    "gc",
    "remove old finished runs, the media that no run names any more, and what killed processes left",
    async () => (await import("../commands/gc.ts")).gc,
  );
  add(
    "migrate <v2-file>",
    "turn v2 bodies or an exported automation flow into a pipeline, with a report of every field",
    async () => (await import("../commands/migrate.ts")).migrate,
  );
}

/** Commands that serve on this machine. */
function addServing(add: Add, group: (name: string, description: string) => void): void {
  add(
    "dashboard [files...]",
    "watch and control runs in a browser; pipelines named here can be planned and started there",
    async () => (await import("../commands/dashboard.ts")).dashboard,
  );
  add(
    "init [file]",
    "write a pipeline for the models of the service that is there, and what the folder needs to run it: package.json, tsconfig.json; overwrites nothing",
    async () => (await import("../commands/init.ts")).init,
  );
  add("serve", "run the local service: the whole API on this machine, with play money", async () => {
    return (await import("../commands/serve.ts")).serve;
  });
  add("worker", "run all resumable runs of the journal, as decisions come in", async () => {
    return (await import("../commands/worker.ts")).worker;
  });
  add(
    "mcp <folder>",
    "offer the pipelines of a folder to an AI agent by the Model Context Protocol, on stdin and stdout",
    async () => (await import("../commands/mcp.ts")).mcp,
  );
  group("notify", "notify people of runs by a signed webhook or a command");
  const notify = () => import("../commands/notify.ts");
  add("notify test", "send a test notification", async () => (await notify()).testNotify);
  add("notify key", "print the public key that its webhooks are verified with", async () => (await notify()).notifyKey);
  add("notify list", "list undelivered notifications, and why", async () => (await notify()).listNotices);
  add(
    "record <folder>",
    "record what a hosted service answers, for tests that replay it. Left out: credentials in headers of requests, cookies, fields named like a secret, keys and tokens of known forms, and queries of addresses. Look at a recording before you publish it.",
    async () => (await import("../commands/record.ts")).record,
  );
  group("skills", "teach coding agents to work with pipelines");
  add(
    "skills install",
    "write a skill, SKILL.md, from which coding agents learn to write, price, run and repair pipelines",
    async () => (await import("../commands/skills.ts")).installSkills,
  );
  add(
    "completion",
    "print the script that completes commands and flags in a shell: source <(showrunner completion bash)",
    async () => (await import("../commands/completion.ts")).completion,
  )
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .argument("[words...]", "what was typed so far, after --; prints what may follow");
}

/** What people ask the service for every day; `api` sends anything else. */
function addCalls(add: Add, group: (name: string, description: string) => void): void {
  const models = () => import("../commands/models.ts");
  group("models", "read the catalog");
  add("models list", "list the models", async () => (await models()).listModels);
  add("models show <model>", "show a model with its schemas", async () => (await models()).showModel);
  add("models pull", "write the catalog and the types of its models", async () => (await models()).pullModels);
  add("models voices <model>", "list a speech model's voices, or search them by name", async () => {
    return (await models()).listVoices;
  });
  add(
    "models diff [files...]",
    "say what changed in the catalog since it was pulled, and which of these pipelines that breaks",
    async () => (await import("../commands/models-diff.ts")).modelsDiff,
  );
  const jobs = () => import("../commands/jobs.ts");
  group("jobs", "list, show and follow jobs");
  add("jobs list", "list jobs, newest first", async () => (await jobs()).listJobs);
  add("jobs get <job-id>", "show a job with its outputs", async () => (await jobs()).getJob);
  add("jobs follow <job-id>", "watch a job to its end", async () => (await jobs()).followJob);
  group("files", "upload files");
  add("files upload <path>", "upload a file; free", async () => (await jobs()).uploadFile);
  add(
    "api <method-or-path> [path]",
    "send one request to the service with your key, and print its answer as it came",
    async () => (await import("../commands/api.ts")).api,
  );
}
