import { formatUsd, isPipeline, loadRun, type RunReport, type RunState } from "../index.ts";
import { checkFiles } from "./allowed-files.ts";
import type { AgentPipeline, McpOptions } from "./options.ts";
import { ToolError } from "./tool-error.ts";

/** Runs that agents started are told apart by it: tools neither show nor change any other. */
const PREFIX = "agent-";
const POLL_MS = 250;
const FINAL: ReadonlySet<string> = new Set(["succeeded", "partial", "failed", "cancelled"]);

/** What of the budget a run may use up: its own budget, less what it had spent before this server drove it. */
interface Reserved {
  readonly capMicros: number;
  readonly beforeMicros: number;
}

/** What agents do with runs while one server lives, whichever connection they come by. */
export class AgentSession {
  readonly options: McpOptions;
  readonly #reserved = new Map<string, Reserved>();
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
  quote(name: string, input: unknown) {
    const { show, maxUnquoted, filesDir } = this.options;
    const found = this.pipeline(name);
    checkFiles(found, input, filesDir);
    return show.quote(found.pipeline, input, { maxUnquoted });
  }

  /** Starts a run, or goes on with that of the same name and input. Returns as soon as it is under way. */
  start(name: string, runName: string, input: unknown): Promise<string> {
    return this.#inTurn(async () => {
      const { show, maxUnquoted } = this.options;
      this.#refuseWithoutBudget();
      const { pipeline, source } = this.pipeline(name);
      const id = `${PREFIX}${runName}`;
      if (this.#driven.has(id) || (await this.options.journal.run(id)) !== null)
        return this.#again(id, pipeline, input);
      const quote = await this.quote(name, input);
      const capMicros = await this.#capFor(quote.totalMicros.max);
      const handle = await show.run(pipeline, input, { id, budget: formatUsd(capMicros), maxUnquoted, source });
      this.#reserved.set(id, { capMicros, beforeMicros: 0 });
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
      await this.#reserveRest(state);
      const { show, pipelines } = this.options;
      const code = pipelines.find(({ pipeline }) => pipeline.name === state.planned.plan.pipeline);
      const handle = await show.resume(runId, { ...(code !== undefined && { pipeline: code.pipeline }) });
      this.#drive(runId, handle.result());
    });
  }

  /** @throws ToolError for a run that no agent started */
  async state(runId: string): Promise<RunState> {
    this.#refuseOther(runId);
    return loadRun(this.options.journal, runId);
  }

  /** @throws ToolError for a run that no agent started */
  async report(runId: string): Promise<RunReport> {
    this.#refuseOther(runId);
    return this.options.show.show(runId);
  }

  async runs() {
    return (await this.options.show.runs()).filter(({ runId }) => runId.startsWith(PREFIX));
  }

  /** Settles when the run rests or ends, when time is up, or when nobody waits any more. */
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

  /** What runs may still reserve; null without a budget. */
  async remainingMicros(): Promise<number | null> {
    const { budgetMicros } = this.options;
    if (budgetMicros === null) return null;
    const used = await Promise.all([...this.#reserved].map(([id, reserved]) => this.#used(id, reserved)));
    return Math.max(0, budgetMicros - used.reduce((sum, one) => sum + one, 0));
  }

  /** Runs that are being driven here. */
  get driven(): readonly string[] {
    return [...this.#driven.keys()];
  }

  /** Settles once every run that is driven here rests or has ended. */
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
    const state = await this.state(id);
    if (!this.#driven.has(id) && !FINAL.has(state.status)) await this.#reserveRest(state);
    const handle = await this.options.show.run(pipeline, input, { id });
    if (!this.#driven.has(id)) this.#drive(id, handle.result());
    else handle.result().catch(() => {});
    return id;
  }

  /** A run's budget: what is set for each, else its quote; at most what is left. */
  async #capFor(quoteMicros: number | null): Promise<number> {
    const { runBudgetMicros } = this.options;
    const left = (await this.remainingMicros()) ?? 0;
    const cap = Math.min(left, runBudgetMicros ?? quoteMicros ?? left);
    if (quoteMicros === null || quoteMicros <= cap) return cap;
    const limits = `at most ${formatUsd(left)} dollars are left of this server's budget${runBudgetMicros === null ? "" : `, and ${formatUsd(runBudgetMicros)} for one run`}`;
    throw new ToolError(
      `The run may cost up to ${formatUsd(quoteMicros)} dollars; ${limits}`,
      "ask for less, or ask the person who started this server for a larger --budget; it cannot be raised from here",
    );
  }

  async #reserveRest(state: RunState): Promise<void> {
    const { runId, budgetMicros, spentMicros } = state;
    if (this.#reserved.has(runId)) return;
    const left = (await this.remainingMicros()) ?? 0;
    const rest = budgetMicros === null ? null : Math.max(0, budgetMicros - spentMicros);
    if (rest === null || rest > left) {
      throw new ToolError(
        `Run ${runId} may spend ${rest === null ? "without limit" : `${formatUsd(rest)} dollars more`}; ${formatUsd(left)} are left of this server's budget`,
        `ask the person who started this server to go on with it: showrunner resume ${runId}`,
      );
    }
    this.#reserved.set(runId, { capMicros: rest, beforeMicros: spentMicros });
  }

  async #used(runId: string, { capMicros, beforeMicros }: Reserved): Promise<number> {
    const state = await loadRun(this.options.journal, runId);
    const { spentMicros, heldMicros, unconfirmedMicros } = state;
    const committed = spentMicros + heldMicros + unconfirmedMicros - beforeMicros;
    // A run that is over keeps what it cost; one that is not may use up its budget, or was charged beyond it.
    return FINAL.has(state.status) && !this.#driven.has(runId) ? committed : Math.max(committed, capMicros);
  }

  #refuseWithoutBudget(): void {
    if (this.options.budgetMicros !== null) return;
    throw new ToolError(
      "This server has no budget, so nothing can be run; plans and prices are free",
      "ask the person who started it to start it with --budget USD",
    );
  }

  #refuseOther(runId: string): void {
    if (runId.startsWith(PREFIX)) return;
    throw new ToolError(
      `Run ${JSON.stringify(runId)} was not started by an agent, so it is not shown or changed here`,
      "`list_runs` names the runs of agents",
    );
  }

  /** One after the other: each reserves of what the one before has left. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
