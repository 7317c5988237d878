import { Argument, type Command, Option } from "commander";
import { own } from "../../core/kit/lookup.ts";
import type { ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { values } from "../input/flag-values.ts";
import { options } from "./flags.ts";
import type { FlagTable } from "./option.ts";

/** Imports a command's code. Called only when the command runs, so that help stays fast. */
type Load = () => Promise<Perform>;
type Perform = (context: Context, ...given: never[]) => Promise<ExitCode> | Promise<void>;

export type Act = (load: Load) => (...given: unknown[]) => Promise<void>;

type Name = keyof typeof options;
type Usage = Name | `${Name} ${"<" | "["}${string}`;
type Parent<N> = N extends `${infer P} ${string}` ? P : never;

type Entry = readonly [description: string, load: Load, adjust?: (command: Command) => void];

/** Commands, keyed by usage. A string describes a group of commands. */
type Commands = { readonly [U in Usage]?: Entry } & { readonly [P in Parent<Name>]?: string };

const from =
  <M, K extends keyof M>(module: () => Promise<M>, name: K): (() => Promise<M[K]>) =>
  async () =>
    (await module())[name];

const run = () => import("../commands/run.ts");
const plan = () => import("../commands/plan.ts");
const resume = () => import("../commands/resume.ts");
const runs = () => import("../commands/runs.ts");
const show = () => import("../commands/show.ts");
const decide = () => import("../commands/decide.ts");
const exports = () => import("../commands/export.ts");
const gc = () => import("../commands/gc.ts");
const doctor = () => import("../commands/doctor.ts");
const statement = () => import("../commands/statement.ts");
const marks = () => import("../commands/marks.ts");
const init = () => import("../commands/init.ts");
const serve = () => import("../commands/serve.ts");
const worker = () => import("../commands/worker.ts");
const notify = () => import("../commands/notify.ts");
const service = () => import("../commands/service.ts");

const commands: { readonly [heading: string]: Commands } = {
  "Pipelines:": {
    "run <file[#export]>": ["price a pipeline, run it and show its progress", from(run, "run")],
    "plan <file[#export]>": ["check and price a pipeline; spends nothing", from(plan, "plan")],
    "resume <run-id>": ["resume a run that was killed, stopped or paused", from(resume, "resume")],
    runs: ["list the runs in the journal", from(runs, "runs")],
    "show <run-id>": ["show one run: steps, jobs, costs, files", from(show, "show")],
    "approve [run-id] [step]": [
      "approve a waiting step; without a step, list the steps waiting in that run; without a run id, those in all runs",
      from(decide, "approve"),
    ],
    "reject <run-id> <step>": [
      "reject a step waiting for approval; it fails, and steps that depend on it are skipped",
      from(decide, "reject"),
    ],
    "stop <run-id>": [
      "stop a run from submitting more jobs, no matter which process is executing it",
      from(resume, "stop"),
    ],
    "open <run-id> <step>": [
      "open a step's files (for an approval, the files it shows) and print their paths",
      async () => (await import("../commands/decide.ts")).open,
    ],
    "report <run-id>": ["write a run's report as one HTML file with its media embedded", from(exports, "report")],
    "events <run-id>": ["print the events of a run", from(show, "events")],
    balance: ["show the wallet balance, and what the runs in the journal have spent and reserved", from(gc, "balance")],
    doctor: ["check Node, settings, journal, media, disk space, service, clock and webhooks", from(doctor, "doctor")],
    "review-link [run-id] [step]": [
      "create a link where a client can make the pending decisions in selected runs and see nothing else",
      async () => (await import("../commands/review-link.ts")).reviewLink,
    ],
    "export <run-id>": [
      "export a run's clips, takes, audio and captions as a timeline for video editors, with copies of the media files",
      from(exports, "exportRun"),
    ],
    statement: ["list what a client's runs produced and cost in a month", from(statement, "statement")],
    "check <files...>": [
      "show how the current code of the given pipelines would change unfinished runs; spends nothing",
      async () => (await import("../commands/check.ts")).check,
    ],
    "adopt <run-id> [step] [job-id]": [
      'record the outcome of a submission that got no response: the job that it created, the file that the provider generated, or "none". Without a job, it lists the candidates; without a step, it asks you about each unresolved step',
      async () => (await import("../commands/reconcile.ts")).adopt,
    ],
    "reconcile [run-id]": [
      "list differences between the journal and the service: unknown jobs, unclaimed outputs, missing refunds",
      async () => (await import("../commands/reconcile.ts")).reconcile,
    ],
    "marks <files...>": [
      "show what files say about their origin: source type, content credentials, and the manifest next to each file",
      from(marks, "marks"),
    ],
    "sign <files...>": [
      "sign copies of files with content credentials (C2PA): source type, models and ingredients",
      from(marks, "sign"),
    ],
    gc: [
      "remove old finished runs, media that runs no longer use, and leftovers from killed processes",
      from(gc, "gc"),
    ],
    "migrate <v2-file>": [
      "convert v2 request bodies or an exported automation flow into a pipeline, with a report on every field",
      async () => (await import("../commands/migrate.ts")).migrate,
    ],
  },
  "This machine:": {
    "dashboard [files...]": [
      "watch and control runs in a browser; also plan and start pipelines from the given files",
      async () => (await import("../commands/dashboard.ts")).dashboard,
    ],
    "init [file]": [
      "create a pipeline for the models of the configured service, plus package.json and tsconfig.json; existing files are kept",
      from(init, "init"),
    ],
    serve: ["run the local service: the whole API on this machine, paid for with play money", from(serve, "serve")],
    worker: [
      "continue all resumable runs in the journal, and apply decisions as they are made",
      from(worker, "worker"),
    ],
    "mcp <folder>": [
      "offer the pipelines in a folder to an AI agent over the Model Context Protocol, on stdin and stdout",
      async () => (await import("../commands/mcp.ts")).mcp,
    ],
    notify: "notify people about runs with a signed webhook or a command",
    "notify test": ["send a test notification", from(notify, "testNotify")],
    "notify key": ["print the public key for verifying notification webhooks", from(notify, "notifyKey")],
    "notify list": ["list undelivered notifications, each with its error", from(notify, "listNotices")],
    "record <folder>": [
      "record a hosted service's responses so that tests can replay them. Omits cookies, URL queries, credentials in request headers, fields whose names suggest a secret, and keys and tokens in known formats. Review a recording before you publish it",
      from(serve, "record"),
    ],
    skills: "teach coding agents to work with pipelines",
    "skills install": [
      "write SKILL.md, which teaches coding agents to write, price, run and repair pipelines",
      from(init, "installSkills"),
    ],
    completion: [
      "print a shell completion script; load it with: source <(showrunner completion bash)",
      async () => (await import("../commands/completion.ts")).completion,
      withShell,
    ],
  },
  "The service:": {
    models: "read the catalog",
    "models list": ["list the models", from(service, "listModels")],
    "models show <model>": ["show a model and its schemas", from(service, "showModel")],
    "models pull": ["save the catalog and types for its models as files", from(service, "pullModels")],
    "models voices <model>": [
      "list a speech model's voices, or search them by name or description",
      from(service, "listVoices"),
    ],
    "models diff [files...]": [
      "show what has changed in the catalog since it was pulled, and which of the given pipelines break",
      from(service, "modelsDiff"),
    ],
    jobs: "list, show and follow jobs",
    "jobs list": ["list jobs, newest first", from(service, "listJobs")],
    "jobs get <job-id>": ["show a job and its outputs", from(service, "getJob")],
    "jobs follow <job-id>": ["watch a job until it ends", from(service, "followJob")],
    files: "upload files",
    "files upload <path>": ["upload a file; free", from(service, "uploadFile")],
    "api <method-or-path> [path]": [
      "send one request to the service with your key, and print the raw response",
      async () => (await import("../commands/api.ts")).api,
    ],
  },
};

export function addCommands(program: Command, act: Act): void {
  const parents = new Map([["", program]]);
  for (const [heading, entries] of Object.entries(commands)) {
    program.commandsGroup(heading);
    for (const [usage, entry] of Object.entries(entries as Readonly<Record<string, string | Entry>>)) {
      const [description, load, adjust] = typeof entry === "string" ? [entry] : entry;
      const [name, parent = ""] = /^(?:(\w+) )?[\w-]+/.exec(usage)!;
      const command = parents.get(parent)!.command(usage.slice(parent.length).trim()).description(description);
      if (load === undefined) parents.set(usage, command);
      else addOptions(command.action(act(load)), options[name as Name]);
      adjust?.(command);
    }
  }
}

function addOptions(command: Command, flags: FlagTable): void {
  for (const [syntax, flag] of Object.entries(flags)) {
    const option = new Option(syntax, typeof flag === "string" ? flag : flag.description);
    const parse = own(values, /<(.+)>$/.exec(syntax)?.[1] ?? "");
    if (parse !== undefined) option.argParser<unknown>((text, before) => parse(option.long!, text, before as never));
    command.addOption(typeof flag === "string" ? option : flag.adjust(option));
  }
}

function withShell(command: Command): void {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .argument("[words...]", "print completions for the words typed so far (after --)");
}
