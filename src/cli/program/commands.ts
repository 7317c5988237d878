import { Argument, type Command, Option } from "commander";
import type { ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { options } from "./flags.ts";
import type { Flag } from "./option.ts";

/** Called only when the command runs, so that help stays fast. */
type Load = () => Promise<(context: Context, ...given: never[]) => ExitCode | Promise<ExitCode>>;

export type Act = (load: Load) => (...given: unknown[]) => Promise<void>;

type Name = keyof typeof options;

type Add = (usage: Name | `${Name} ${"<" | "["}${string}`, description: string, load: Load) => Command;

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

function addRunning(add: Add): void {
  add("run <file[#export]>", "price a pipeline, run it and show its progress", async () => {
    return (await import("../commands/run.ts")).run;
  });
  add("plan <file[#export]>", "check and price a pipeline; spends nothing", async () => {
    return (await import("../commands/plan.ts")).plan;
  });
  add("resume <run-id>", "resume a run that was killed, stopped or paused", async () => {
    return (await import("../commands/resume.ts")).resume;
  });
  add("runs", "list the runs in the journal", async () => (await import("../commands/runs.ts")).runs);
  add("show <run-id>", "show one run: steps, jobs, costs, files", async () => {
    return (await import("../commands/show.ts")).show;
  });
  add(
    "approve [run-id] [step]",
    "approve a waiting step; without a step, list the steps waiting in this run or in all runs",
    async () => (await import("../commands/decide.ts")).approve,
  );
  add(
    "reject <run-id> <step>",
    "reject a step waiting for approval: it fails, and steps that depend on it are skipped",
    async () => (await import("../commands/decide.ts")).reject,
  );
  add("stop <run-id>", "stop a run from submitting more jobs, no matter which process is executing it", async () => {
    return (await import("../commands/resume.ts")).stop;
  });
  add(
    "open <run-id> <step>",
    "open a step's files (for an approval, the files it shows) and print their paths",
    async () => (await import("../commands/open.ts")).open,
  );
  add("report <run-id>", "write a run's report as one HTML file with its media embedded", async () => {
    return (await import("../commands/export.ts")).report;
  });
  add("events <run-id>", "print the events of a run", async () => (await import("../commands/events.ts")).events);
  add("balance", "show the wallet balance, and what the runs in the journal have spent and reserved", async () => {
    return (await import("../commands/gc.ts")).balance;
  });
  add("doctor", "check Node, settings, journal, media, disk space, service, clock and webhooks", async () => {
    return (await import("../commands/doctor.ts")).doctor;
  });
}

function addMore(add: Add): void {
  add(
    "review-link [run-id] [step]",
    "create a link where a client can make the pending decisions in selected runs, and see nothing else",
    async () => (await import("../commands/review-link.ts")).reviewLink,
  );
  add(
    "export <run-id>",
    "export a run's clips, takes, audio and captions as a timeline for video editors, with its media",
    async () => (await import("../commands/export.ts")).exportRun,
  );
  add("statement", "list what a client's runs produced and cost in a month", async () => {
    return (await import("../commands/statement.ts")).statement;
  });
  add("check <files...>", "show what the given pipelines would change in unfinished runs; spends nothing", async () => {
    return (await import("../commands/check.ts")).check;
  });
  add(
    "adopt <run-id> [step] [job-id]",
    'resolve a submission that got no answer: pass the job that it created, the file that the provider generated, or "none". Without a job, list the candidates; without a step, ask about every step',
    async () => (await import("../commands/adopt.ts")).adopt,
  );
  add(
    "reconcile [run-id]",
    "list differences between the journal and the service: unknown jobs, unclaimed outputs, missing refunds",
    async () => (await import("../commands/reconcile.ts")).reconcile,
  );
  add(
    "marks <files...>",
    "show what files say about their origin: source type, content credentials, and the manifest next to each file",
    async () => (await import("../commands/marks.ts")).marks,
  );
  add(
    "sign <files...>",
    "sign copies of files with content credentials (C2PA): source type, models and ingredients",
    async () => (await import("../commands/marks.ts")).sign,
  );
  add(
    "gc",
    "remove old finished runs, media that runs no longer use, and leftovers from killed processes",
    async () => (await import("../commands/gc.ts")).gc,
  );
  add(
    "migrate <v2-file>",
    "convert v2 request bodies or an exported automation flow into a pipeline, with a report on every field",
    async () => (await import("../commands/migrate.ts")).migrate,
  );
}

function addServing(add: Add, group: (name: string, description: string) => void): void {
  add(
    "dashboard [files...]",
    "watch and control runs in a browser, and plan and start the given pipelines there",
    async () => (await import("../commands/dashboard.ts")).dashboard,
  );
  add(
    "init [file]",
    "create a pipeline for the models of the configured service, plus package.json and tsconfig.json; overwrites nothing",
    async () => (await import("../commands/init.ts")).init,
  );
  add("serve", "run the local service: the whole API on this machine, with play money", async () => {
    return (await import("../commands/serve.ts")).serve;
  });
  add("worker", "run all resumable runs in the journal, and apply decisions as they are made", async () => {
    return (await import("../commands/worker.ts")).worker;
  });
  add(
    "mcp <folder>",
    "offer the pipelines in a folder to an AI agent over the Model Context Protocol, on stdin and stdout",
    async () => (await import("../commands/mcp.ts")).mcp,
  );
  group("notify", "notify people about runs by signed webhook or command");
  const notify = () => import("../commands/notify.ts");
  add("notify test", "send a test notification", async () => (await notify()).testNotify);
  add("notify key", "print the public key for verifying notification webhooks", async () => (await notify()).notifyKey);
  add("notify list", "list undelivered notifications, each with its error", async () => (await notify()).listNotices);
  add(
    "record <folder>",
    "record a hosted service's responses so that tests can replay them. Omits credentials in request headers, cookies, fields whose names suggest a secret, keys and tokens in known formats, and URL queries. Review a recording before you publish it",
    async () => (await import("../commands/serve.ts")).record,
  );
  group("skills", "teach coding agents to work with pipelines");
  add(
    "skills install",
    "write SKILL.md, which teaches coding agents to write, price, run and repair pipelines",
    async () => (await import("../commands/init.ts")).installSkills,
  );
  add(
    "completion",
    "print a shell completion script: source <(showrunner completion bash)",
    async () => (await import("../commands/completion.ts")).completion,
  )
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .argument("[words...]", "the words typed so far (after --), for which completions are printed");
}

function addCalls(add: Add, group: (name: string, description: string) => void): void {
  const models = () => import("../commands/models.ts");
  group("models", "read the catalog");
  add("models list", "list the models", async () => (await models()).listModels);
  add("models show <model>", "show a model and its schemas", async () => (await models()).showModel);
  add("models pull", "write the catalog, and types for its models", async () => (await models()).pullModels);
  add("models voices <model>", "list a speech model's voices, or search them by name or description", async () => {
    return (await models()).listVoices;
  });
  add(
    "models diff [files...]",
    "show what has changed in the catalog since it was pulled, and which of the given pipelines break",
    async () => (await import("../commands/models.ts")).modelsDiff,
  );
  const jobs = () => import("../commands/jobs.ts");
  group("jobs", "list, show and follow jobs");
  add("jobs list", "list jobs, newest first", async () => (await jobs()).listJobs);
  add("jobs get <job-id>", "show a job and its outputs", async () => (await jobs()).getJob);
  add("jobs follow <job-id>", "watch a job until it ends", async () => (await jobs()).followJob);
  group("files", "upload files");
  add("files upload <path>", "upload a file; free", async () => (await jobs()).uploadFile);
  add(
    "api <method-or-path> [path]",
    "send one request to the service with your key, and print the raw response",
    async () => (await import("../commands/api.ts")).api,
  );
}
