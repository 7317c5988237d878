import { access, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { cleanText } from "../clean-text.ts";
import {
  formatUsd,
  isPipeline,
  type JournalStore,
  loadRun,
  type MediaStore,
  type Pipeline,
  type Quote,
  type RunReport,
  type RunState,
  type Showrunner,
} from "../internal.ts";
import { ToolError } from "./tool-error.ts";

/** A pipeline that agents may plan and, under a budget, run. */
export interface AgentPipeline {
  /** Unique. */
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly exportName: string };
}

/** What a person has allowed agents to do. */
export interface McpOptions {
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly media: MediaStore;
  readonly pipelines: readonly AgentPipeline[];
  /** The folder that files named by an input must lie in. */
  readonly filesDir: string;
  /** The most that runs may cost that agents start while this server runs, micro-dollars; null: none may be started. `show` has it as a cap on their tag. */
  readonly budgetMicros: number | null;
  /** The most that one of them may cost; null: its quote. */
  readonly runBudgetMicros: number | null;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  readonly allowApprove: boolean;
  /** Whether the agent's program may ask the person at its side for decisions, and for a run above what is set for each. */
  readonly mayAsk: boolean;
  /** What the person types who started the server: `showrunner` or `npx showrunner`. */
  readonly launcher: string;
  /** A line for the person who started the server. */
  readonly log: (text: string) => void;
}

/** Runs that agents started are distinguished by it: tools neither show nor change any other. */
const PREFIX = "agent-";
const POLL_MS = 250;
const FINAL: ReadonlySet<string> = new Set(["succeeded", "partial", "failed", "cancelled"]);

/** Every run that an agent starts carries it: what they may spend together is a cap on this tag. */
export const AGENT_TAG = "started-by=agent";
const tags = { "started-by": "agent" };

/** What agents do with runs while one server lives, whichever connection they come by. */
export class AgentSession {
  readonly options: McpOptions;
  readonly #driven = new Map<string, Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: McpOptions) {
    this.options = options;
  }

  /** @throws ToolError */
  pipeline(name: string): AgentPipeline {
    const found = this.options.pipelines.find((one) => one.name === name);
    if (found !== undefined && isPipeline(found.pipeline)) return found;
    const names = this.options.pipelines.map((one) => one.name).join(", ") || "none";
    throw new ToolError(`There is no pipeline ${JSON.stringify(name)}`, `choose one of: ${names}`);
  }

  /** @throws ToolError for an input that names files elsewhere */
  async quote(name: string, input: unknown) {
    const { show, maxUnquoted, filesDir } = this.options;
    const found = this.pipeline(name);
    await checkFiles(input, filesDir);
    return show.quote(found.pipeline, input, { maxUnquoted });
  }

  async isStarted(runName: string): Promise<boolean> {
    return (await this.options.journal.run(`${PREFIX}${runName}`)) !== null;
  }

  /**
   * Starts a run, or continues with that of the same name and input. Returns as soon as it is under way. `allowedMicros`: what
   * a person allowed for this run in place of what is set for each.
   */
  start(name: string, runName: string, input: unknown, allowedMicros: number | null = null): Promise<string> {
    return this.#inTurn(async () => {
      const { show, maxUnquoted } = this.options;
      this.#refuseWithoutBudget();
      const { pipeline, source } = this.pipeline(name);
      const id = `${PREFIX}${runName}`;
      if (this.#driven.has(id) || (await this.options.journal.run(id)) !== null)
        return this.#again(id, pipeline, input);
      const quote = await this.quote(name, input);
      const capMicros = await this.#capFor(quote, allowedMicros);
      const handle = await show.run(pipeline, input, { id, tags, budget: formatUsd(capMicros), maxUnquoted, source });
      this.#drive(id, handle.result());
      return id;
    });
  }

  /** Drives a paused or interrupted run on, under the budget that it has. */
  resume(runId: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#refuseWithoutBudget();
      const state = await this.state(runId);
      if (this.#driven.has(runId) || FINAL.has(state.status)) return;
      const { show, pipelines } = this.options;
      const code = pipelines.find(({ pipeline }) => pipeline.name === state.planned.plan.pipeline);
      const handle = await show.resume(runId, { ...(code !== undefined && { pipeline: code.pipeline }) });
      this.#drive(runId, handle.result());
    });
  }

  /** @throws ToolError for a run that no agent started */
  async state(runId: string): Promise<RunState> {
    if (!runId.startsWith(PREFIX)) throw notAnAgents(runId);
    const state = await loadRun(this.options.journal, runId);
    if (state.planned.tags?.["started-by"] !== "agent") throw notAnAgents(runId);
    return state;
  }

  /** @throws ToolError for a run that no agent started */
  async report(runId: string): Promise<RunReport> {
    // The tag is what says whose it is: a person may have named a run like one of an agent.
    await this.state(runId);
    return this.options.show.show(runId);
  }

  async runs() {
    return (await this.options.show.runs({ tags })).filter(({ runId }) => runId.startsWith(PREFIX));
  }

  /** Settles when the run is idle or ends, when time is up, or when nobody waits any more. */
  async wait(
    runId: string,
    timeoutMs: number,
    signal: AbortSignal,
    tell: (report: RunReport) => void,
  ): Promise<RunReport> {
    const until = Date.now() + timeoutMs;
    let lastSeq = -1;
    for (;;) {
      const row = await this.options.journal.run(runId);
      const isDriven = this.#driven.has(runId);
      if (row?.lastSeq !== lastSeq || !isDriven) {
        lastSeq = row?.lastSeq ?? -1;
        const report = await this.report(runId);
        if ((!isDriven && report.status !== "running") || Date.now() >= until || signal.aborted) return report;
        tell(report);
      }
      if (Date.now() >= until || signal.aborted) return this.report(runId);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  /** What is left of the cap over the runs of agents; null without a budget. */
  async remainingMicros(): Promise<number | null> {
    const cap = (await this.options.show.spending()).caps.find(({ tag }) => tag === AGENT_TAG);
    return cap === undefined ? null : Math.max(0, cap.capMicros - cap.spentMicros - cap.heldMicros);
  }

  /** Runs that are being driven here. */
  get driven(): readonly string[] {
    return [...this.#driven.keys()];
  }

  /** Settles once every run that is driven here is idle or has ended. */
  async idle(): Promise<void> {
    while (this.#driven.size > 0) await Promise.allSettled(this.#driven.values());
  }

  #drive(runId: string, result: Promise<unknown>): void {
    const over = result
      .catch((error: unknown) => this.options.log(`run ${runId}: ${String(error)}`))
      .finally(() => this.#driven.delete(runId));
    this.#driven.set(runId, over);
  }

  /** The library compares pipeline and input with those of the run, and refuses others. */
  async #again(id: string, pipeline: AgentPipeline["pipeline"], input: unknown): Promise<string> {
    await this.state(id);
    const handle = await this.options.show.run(pipeline, input, { id, tags });
    if (!this.#driven.has(id)) this.#drive(id, handle.result());
    else handle.result().catch(() => {});
    return id;
  }

  /** A run's budget: what is set for each, else its quote; at most what is left. */
  async #capFor({ totalMicros, expectedMicros }: Quote, allowedMicros: number | null): Promise<number> {
    const runBudgetMicros = allowedMicros ?? this.options.runBudgetMicros;
    const left = (await this.remainingMicros()) ?? 0;
    const cap = Math.min(left, runBudgetMicros ?? totalMicros.max ?? left);
    if (expectedMicros <= cap) return cap;
    const limits = `at most ${formatUsd(left)} dollars are left of this server's budget${runBudgetMicros === null ? "" : `, and ${formatUsd(runBudgetMicros)} for one run`}`;
    throw new ToolError(
      `The run is expected to cost ${formatUsd(expectedMicros)} dollars; ${limits}`,
      "ask for less, or ask the person who started this server for a larger --budget; it cannot be raised from here",
    );
  }

  #refuseWithoutBudget(): void {
    if (this.options.budgetMicros !== null) return;
    throw new ToolError(
      "This server has no budget, so nothing can be run; plans and prices are free",
      "ask the person who started it to start it with --budget USD",
    );
  }

  /** One after the other, so that two calls for one name are one run. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}

function notAnAgents(runId: string): ToolError {
  return new ToolError(
    `Run ${JSON.stringify(runId)} was not started by an agent, so it is not shown or changed here`,
    "`list_runs` names the runs of agents",
  );
}

/** Of a path, in a message. */
const MOST_CHARACTERS = 300;

/**
 * Refuses an input with a text in it that names an existing file outside of the folder: code of the pipeline could read it.
 * Uploads need no such look, as the Showrunner opens nothing else for them. An agent that follows foreign instructions could
 * otherwise send any file of this machine to the service.
 * @throws ToolError
 */
export async function checkFiles(input: unknown, folder: string): Promise<void> {
  for (const text of textsIn(input)) {
    if (text.trim() === "" || text.includes("\0")) continue;
    const path = resolve(text);
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (exists) await refuseOutside(path, text, folder);
  }
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

async function refuseOutside(path: string, given: string, folder: string): Promise<void> {
  const inside = relative(await realpath(folder), await realpath(path));
  if (!inside.startsWith("..") && !isAbsolute(inside)) return;
  throw new ToolError(
    `The file ${JSON.stringify(cleanText(given, MOST_CHARACTERS))} lies outside of the folder that inputs may name files of, ${folder}`,
    "ask the person who started this server to copy it there, or to name another folder with --files",
  );
}
