import { realpath } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { isPipeline } from "../../core/define/index.ts";
import { cleanText } from "../../core/kit/clean-text.ts";
import { isRunId } from "../../core/kit/file-name.ts";
import { isWithin } from "../../core/kit/files.ts";
import { formatUsd, openSteps, parseUsd } from "../../core/kit/money.ts";
import { loadRun, type RunState, RunView, type WaitingDecision } from "../../core/view/index.ts";
import type { JournalStore, Json, Pipeline, Quote, RunDocument, Showrunner } from "../../index.ts";
import { decide, inTurn, leftOfBudget } from "../served/index.ts";
import { ToolError } from "./tool-error.ts";

export interface AgentPipeline {
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly exportName: string };
}

/** A decision on a waiting step. `value` replaces the value shown. */
export interface Decision {
  readonly decision: "approve" | "reject";
  /** Number of the chosen result, starting at 1. */
  readonly pick?: number | undefined;
  readonly note?: string | undefined;
  readonly value?: Json | undefined;
}

export interface McpOptions {
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly pipelines: readonly AgentPipeline[];
  /** The only folder from which inputs may use files. */
  readonly filesDir: string;
  /** Total budget of all agent runs. If null, agents cannot start runs. */
  readonly budgetMicros: number | null;
  /** Cost of all agent runs before this server started. */
  readonly beforeMicros?: number | undefined;
  /** Maximum cost of each run. If null, the run's quoted price is its maximum. */
  readonly runBudgetMicros: number | null;
  /** Maximum cost of a job whose price is unknown in advance, in US dollars. */
  readonly maxUnquoted?: string | undefined;
  readonly allowApprove: boolean;
  /** Whether to ask the agent's user for decisions and for approval of higher costs. */
  readonly mayAsk: boolean;
  readonly log: (text: string) => void;
}

/** Prefix of the ids of agents' runs. Tools ignore all other runs. */
const PREFIX = "agent-";
const POLL_MS = 250;
const MOST_LISTED = 100;
const FINAL: ReadonlySet<string> = new Set(["succeeded", "partial", "failed", "cancelled"]);

/** Tag of all runs that agents start. A cap on this tag enforces the budget that agents share. */
export const AGENT_TAG = "started-by=agent";
const tags = { "started-by": "agent" };

export class AgentSession {
  readonly options: McpOptions;
  readonly #driven = new Map<string, Promise<unknown>>();
  readonly #allowed = new Set<string>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(options: McpOptions) {
    this.options = options;
  }

  pipeline(name: string): AgentPipeline {
    const found = this.options.pipelines.find((one) => one.name === name);
    if (found !== undefined && isPipeline(found.pipeline)) return found;
    const names = this.options.pipelines.map((one) => one.name).join(", ") || "none";
    throw new ToolError(`Pipeline ${JSON.stringify(name)} does not exist`, `choose one of: ${names}`);
  }

  async quote(name: string, input: unknown, { keep = false } = {}) {
    const { show, maxUnquoted, filesDir } = this.options;
    const found = this.pipeline(name);
    await checkFiles(input, filesDir);
    return show.quote(found.pipeline, input, { maxUnquoted, filesFrom: [filesDir], keep });
  }

  async isStarted(runName: string): Promise<boolean> {
    return (await this.options.journal.run(`${PREFIX}${runName}`)) !== null;
  }

  /** Starts a run. `allowedMicros` is the amount that a person has allowed in place of the usual limit per run. */
  start(
    name: string,
    runName: string,
    input: unknown,
    {
      allowedMicros = null,
      agreed,
    }: { readonly allowedMicros?: number | null; readonly agreed?: string | undefined } = {},
  ): Promise<string> {
    return this.#inTurn(async () => {
      const { show, maxUnquoted, filesDir } = this.options;
      this.#refuseWithoutBudget();
      const { pipeline, source } = this.pipeline(name);
      const id = `${PREFIX}${runName}`;
      if (this.#driven.has(id) || (await this.options.journal.run(id)) !== null)
        return this.#again(id, pipeline, input);
      const quote = await this.quote(name, input, { keep: agreed === undefined });
      const capMicros = await this.#capFor(quote, allowedMicros);
      if (agreed === undefined && quote.id !== null) throw quoteFirst(quote);
      const budget = formatUsd(capMicros);
      const filesFrom = [filesDir];
      const how = { id, tags, budget, quote: agreed, maxUnquoted, filesFrom, source };
      const handle = await show.run(pipeline, input, how);
      if (allowedMicros !== null) this.#allowed.add(id);
      this.#drive(id, handle.result());
      return id;
    });
  }

  resume(runId: string): Promise<void> {
    return this.#inTurn(() => this.#resume(runId));
  }

  async #resume(runId: string): Promise<void> {
    this.#refuseWithoutBudget();
    const state = await this.state(runId);
    if (this.#driven.has(runId) || FINAL.has(state.status)) return;
    await this.#refuseToGoOn(runId);
    const { show, pipelines } = this.options;
    const code = pipelines.find(({ pipeline }) => pipeline.name === state.planned.plan.pipeline);
    const handle = await show.resume(runId, { ...(code !== undefined && { pipeline: code.pipeline }) });
    this.#drive(runId, handle.result());
  }

  /** Returns the decisions for which a run is waiting, except those that were made but not yet applied. */
  async waiting(runId: string): Promise<readonly WaitingDecision[]> {
    await this.state(runId);
    const found = await this.options.show.waiting({ tags, search: runId });
    return found.filter((one) => one.runId === runId);
  }

  decide({ runId, step, since }: WaitingDecision, { decision, pick, note, value }: Decision): Promise<void> {
    return this.#inTurn(async () => {
      await this.refuseBeyondLimits(runId, decision);
      const isOpen = (await this.waiting(runId)).some((one) => one.step === step && one.since === since);
      if (!isOpen)
        throw new ToolError(
          `Step ${JSON.stringify(step)} is no longer waiting for this decision`,
          "`run_status` shows its state",
        );
      const verdict = { approved: decision === "approve", note, value, pick: pick === undefined ? pick : pick - 1 };
      await decide(this.options.show, runId, step, verdict);
      await this.#resume(runId);
    });
  }

  /** Throws if the decision would make a run exceed the server's budget or its limit per run. */
  async refuseBeyondLimits(runId: string, decision: Decision["decision"] = "approve"): Promise<void> {
    this.#refuseWithoutBudget();
    const { projected, cost, held } = await this.report(runId);
    const [whole, committed] = [parseUsd(projected) ?? 0, (parseUsd(cost) ?? 0) + (parseUsd(held) ?? 0)];
    this.#refuseAboveRunBudget(runId, whole);
    const left = (await this.remainingMicros()) ?? 0;
    if (decision === "reject" || whole - committed <= left) return;
    throw new ToolError(
      `After this decision the run is expected to cost another ${formatUsd(whole - committed)} dollars; this server's budget has only ${formatUsd(left)} dollars left`,
      "ask the person who started this server to set a larger --budget, or to make the decision in the terminal or the dashboard",
    );
  }

  /**
   * Returns the state of a run, including decisions that no process has read yet. Throws if no agent started the run.
   */
  async state(runId: string): Promise<RunState> {
    if (!runId.startsWith(PREFIX) || !isRunId(runId)) throw notAnAgents(runId);
    const { journal } = this.options;
    const state = await loadRun(journal, runId);
    if (state.planned.tags?.["started-by"] !== "agent") throw notAnAgents(runId);
    return new RunView(state).foresee(await journal.inbox(runId)).state;
  }

  async report(runId: string): Promise<RunDocument> {
    // Checks the tag, because a person may have given a run a name like an agent's.
    await this.state(runId);
    return this.options.show.show(runId);
  }

  async runs() {
    const rows = await this.options.show.runs({ tags, limit: MOST_LISTED });
    return rows.filter(({ runId }) => runId.startsWith(PREFIX));
  }

  async wait(
    runId: string,
    timeoutMs: number,
    signal: AbortSignal,
    tell: (report: RunDocument) => void,
  ): Promise<RunDocument> {
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

  async remainingMicros(): Promise<number | null> {
    const { show, budgetMicros, beforeMicros = 0 } = this.options;
    if (budgetMicros === null) return null;
    return leftOfBudget(show, { tag: AGENT_TAG, budgetMicros: beforeMicros + budgetMicros });
  }

  get driven(): readonly string[] {
    return [...this.#driven.keys()];
  }

  async idle(): Promise<void> {
    while (this.#driven.size > 0) await Promise.allSettled(this.#driven.values());
  }

  #drive(runId: string, result: Promise<unknown>): void {
    const over = result
      .catch((error: unknown) => this.options.log(`run ${runId}: ${String(error)}`))
      .finally(() => this.#driven.delete(runId));
    this.#driven.set(runId, over);
  }

  /** Continues an existing run. Throws if the run has a different pipeline or input. */
  async #again(id: string, pipeline: AgentPipeline["pipeline"], input: unknown): Promise<string> {
    const { status } = await this.state(id);
    if (!this.#driven.has(id) && !FINAL.has(status)) await this.#refuseToGoOn(id);
    const handle = await this.options.show.run(pipeline, input, { id, tags });
    if (!this.#driven.has(id)) this.#drive(id, handle.result());
    else handle.result().catch(() => {});
    return id;
  }

  /** Returns the maximum cost of a run, which never exceeds what agents may still spend. */
  async #capFor({ totalMicros, expectedMicros }: Quote, allowedMicros: number | null): Promise<number> {
    const runBudgetMicros = allowedMicros ?? this.options.runBudgetMicros;
    const left = (await this.remainingMicros()) ?? 0;
    const cap = Math.min(left, runBudgetMicros ?? totalMicros.max ?? left);
    if (expectedMicros <= cap) return cap;
    const limits = `this server's budget has only $${formatUsd(left)} left${runBudgetMicros === null ? "" : `, and one run can cost at most $${formatUsd(runBudgetMicros)}`}`;
    throw new ToolError(
      `This run is expected to cost $${formatUsd(expectedMicros)}; ${limits}`,
      `generate less, or ask the person who started this server for a larger ${expectedMicros > left ? "--budget" : "--run-budget"}; agents cannot raise the limit`,
    );
  }

  async #refuseToGoOn(runId: string): Promise<void> {
    this.#refuseAboveRunBudget(runId, parseUsd((await this.report(runId)).projected) ?? 0);
  }

  #refuseAboveRunBudget(runId: string, projectedMicros: number): void {
    const { runBudgetMicros } = this.options;
    if (runBudgetMicros === null || projectedMicros <= runBudgetMicros || this.#allowed.has(runId)) return;
    throw new ToolError(
      `This run is expected to cost ${formatUsd(projectedMicros)} dollars, but one run can cost at most ${formatUsd(runBudgetMicros)} dollars`,
      "ask the person who started this server to set a larger --run-budget or to continue the run in the terminal",
    );
  }

  #refuseWithoutBudget(): void {
    if (this.options.budgetMicros !== null) return;
    throw new ToolError(
      "This server has no budget, so it cannot start runs; planning and pricing still work",
      "ask the person who started this server to restart it with --budget USD",
    );
  }

  /** Runs one call at a time. Otherwise, two requests with the same name could create two runs. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return inTurn(this.#turns, "all runs", work);
  }
}

function notAnAgents(runId: string): ToolError {
  return new ToolError(
    `Run ${JSON.stringify(runId)} was not started by an agent, so agents cannot see or change it`,
    "`list_runs` lists the runs that agents started",
  );
}

function quoteFirst({ id, maximumUsd, prices }: Quote): ToolError {
  const open = openSteps(prices);
  const asks =
    open.length === 0 ? "" : `; the run pauses and asks before unpriced steps: ${open.slice(0, 5).join(", ")}`;
  return new ToolError(
    `This run would cost at most $${maximumUsd}${asks}. The quote's id is ${id}; nothing was started`,
    `show a person this price; once they agree, call \`run_pipeline\` again with the same input and set quote to ${id}`,
  );
}

const MOST_CHARACTERS = 300;
/** Maximum nesting depth of an input. There is a limit because the search is recursive. */
const MOST_LEVELS = 100;
/** Maximum number of strings in an input. There is a limit because each string needs a disk lookup. */
const MOST_TEXTS = 20_000;

/**
 * Throws if the input names a file outside `folder`. An agent could otherwise make a pipeline send any file to the
 * service.
 */
export async function checkFiles(input: unknown, folder: string): Promise<void> {
  let count = 0;
  let known: Promise<string> | undefined;
  const realFolder = () => (known ??= realpath(folder));
  for (const text of textsIn(input)) {
    count += 1;
    if (count > MOST_TEXTS)
      throw new ToolError(`The input contains more than ${MOST_TEXTS} strings`, "split it into several runs");
    if (text.trim() === "" || text.includes("\0")) continue;
    const path = resolve(text);
    const climbs = isAbsolute(text) || text.split(/[\\/]/).includes("..");
    if (climbs && !isWithin(folder, path) && !isWithin(await realFolder(), path)) throw outside(text, folder);
    // In a linked folder, `..` leads to the parent of the link's target.
    for (const one of climbs ? [path, text] : [path]) {
      const place = await realpath(one).catch(() => null);
      if (place !== null && !isWithin(await realFolder(), place)) throw outside(text, folder);
    }
  }
}

function* textsIn(value: unknown, level = 0): Generator<string> {
  if (level > MOST_LEVELS)
    throw new ToolError("The input is nested too deeply", "send an input that fits the pipeline's schema");
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) yield* textsIn(inner, level + 1);
}

function outside(given: string, folder: string): ToolError {
  return new ToolError(
    `The file ${JSON.stringify(cleanText(given, MOST_CHARACTERS))} is outside ${folder}, the only folder that input files can come from`,
    "ask the person who started this server to copy the file into that folder, or to allow another folder with --files",
  );
}
