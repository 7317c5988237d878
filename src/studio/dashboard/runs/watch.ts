import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { MINUTE_MS } from "../../../core/kit/duration.ts";
import { traitsOf } from "../../../core/plan/index.ts";
import {
  type RunRow,
  type RunState,
  type RunView,
  type StepView,
  statusNow,
  stepProgress,
  touchedSteps,
} from "../../../core/view/index.ts";
import type { JournalStore, RunHandle, Showrunner, StoredEvent } from "../../../index.ts";
import { notFound } from "../../served/index.ts";
import type { EventStream } from "../http/route.ts";
import { cut, stepView } from "../views/page-step.ts";
import { MOST_WHOLE, type RunGroups } from "../views/run-groups.ts";
import { runHead } from "../views/run-head.ts";
import { eventLine } from "../views/step-detail.ts";
import type { RunCache } from "./run-cache.ts";

export interface WatchParts {
  readonly journal: JournalStore;
  readonly cache: RunCache;
  readonly drivers: Drivers;
}

const GATHER_MS = 120;
const PROGRESS_MS = 1000;
const LIVENESS_MS = 1000;
const MOST_LINES = 200;
const MOST_READS = 20;

/** Returns what changed in a run since `afterSeq`, or the whole run if the reader has no earlier data. */
export async function runPatch(parts: WatchParts, runId: string, afterSeq: number) {
  const { journal, cache, drivers } = parts;
  const { row, view, groups } = await cache.get(runId);
  const { state } = view;
  const known = afterSeq > 0 && afterSeq <= state.seq;
  const from = known ? afterSeq : Math.max(0, state.seq - MOST_LINES);
  const since = await eventsUpTo(journal, state, from);
  const touched = known ? touchedSteps(since.map(({ event }) => event)) : "all";
  const steps = stepsToSend(view, touched, groups);
  return {
    /** True if the update contains the whole run. It then replaces the reader's copy. */
    full: touched === "all",
    head: runHead(view, {
      row: statusNow(row, Date.now()),
      driveError: drivers.error(runId),
      drivenHere: drivers.isDriving(runId),
      counts: groups?.counts(),
    }),
    groups: groups?.views() ?? null,
    steps: steps.map((step) => stepView(view, step)),
    events: since.slice(-MOST_LINES).map(eventLine),
    progress: (await journal.progress(runId)).map(stepProgress),
  };
}

/**
 * Returns the steps to send: those that changed. If steps are not grouped, it also returns every decision step, because
 * its choices may have changed.
 */
function stepsToSend(
  view: RunView,
  touched: ReadonlySet<string> | "all",
  groups: RunGroups | null,
): readonly StepView[] {
  if (groups !== null) {
    const paths = touched === "all" ? groups.shown() : touched;
    return [...paths].slice(0, MOST_WHOLE).flatMap((path) => view.step(path) ?? []);
  }
  const isDecision = ({ plan }: StepView) => traitsOf(plan).standsFor.length > 0;
  if (touched === "all") return [...view.steps, ...view.removed];
  return view.steps.filter((step) => touched.has(step.path) || isDecision(step));
}

async function eventsUpTo(journal: JournalStore, state: RunState, from: number): Promise<readonly StoredEvent[]> {
  for (let read = 0; read < MOST_READS; read += 1) {
    const since = await journal.read(state.runId, { afterSeq: from });
    if ((since.at(-1)?.seq ?? from) >= state.seq) return since.filter(({ seq }) => seq <= state.seq);
  }
  // The run was removed during the reads.
  throw notFound("This run");
}

export async function watchRun(parts: WatchParts, runId: string, afterSeq: number, stream: EventStream): Promise<void> {
  const { journal, drivers } = parts;
  let seq = afterSeq;
  let status = "";
  const send = async () => {
    const patch = await runPatch(parts, runId, seq);
    ({ seq, status } = patch.head);
    stream.send("run", patch, seq);
  };
  await send();
  void watchProgress(parts, runId, stream);
  while (!stream.signal.aborted) {
    await firstOf(stream.signal, [
      (signal) => journal.waitForChange(runId, seq, signal),
      (signal) => drivers.changed(runId, signal),
      (signal) => drivenAgainOrNoMore(journal, runId, status, signal),
    ]);
    if (stream.signal.aborted) return;
    await pause(GATHER_MS, stream.signal);
    if (!stream.signal.aborted) await send();
  }
}

/** Waits until the run becomes interrupted or stops being interrupted. Polls, because no journal event reports this. */
async function drivenAgainOrNoMore(journal: JournalStore, runId: string, before: string, signal: AbortSignal) {
  while (!signal.aborted) {
    await pause(LIVENESS_MS, signal);
    const row = await journal.run(runId).catch(() => null);
    const isNow = row !== null && statusNow(row, Date.now()).status === "interrupted";
    if (isNow !== (before === "interrupted")) return;
  }
}

async function firstOf(signal: AbortSignal, waits: readonly ((signal: AbortSignal) => Promise<void>)[]): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  await Promise.race(waits.map((wait) => wait(either).catch(() => {})));
  over.abort();
}

async function watchProgress({ journal, cache }: WatchParts, runId: string, stream: EventStream): Promise<void> {
  let last = "";
  while (!stream.signal.aborted) {
    await pause(PROGRESS_MS, stream.signal);
    if (stream.signal.aborted) return;
    const { view } = await cache.get(runId).catch(() => ({ view: null }));
    if (view?.state.status !== "running") continue;
    const progress = (await journal.progress(runId).catch(() => [])).map(stepProgress);
    const text = JSON.stringify(progress);
    if (text !== last) stream.send("progress", progress);
    last = text;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

const RUN_POLL_MS = 1000;

export async function watchList(journal: JournalStore, gauges: GaugeReader, stream: EventStream): Promise<void> {
  // Polls runs and gauges separately, because a service that does not answer must not delay the runs.
  await Promise.all([
    whenChanged(
      stream,
      async () => signOf(await journal.runs()),
      () => stream.send("runs", {}),
    ),
    whenChanged(
      stream,
      () => gauges.read(),
      (now) => stream.send("gauges", now),
    ),
  ]);
}

async function whenChanged<T>(stream: EventStream, read: () => Promise<T>, tell: (seen: T) => void): Promise<void> {
  let before = "";
  while (!stream.signal.aborted) {
    const seen = await read();
    const now = JSON.stringify(seen);
    if (now !== before) tell(seen);
    before = now;
    await pause(RUN_POLL_MS, stream.signal);
  }
}

function signOf(rows: readonly RunRow[]): string {
  const moved = rows.reduce((sum, { lastSeq }) => sum + lastSeq, 0);
  const now = Date.now();
  const interrupted = rows.filter((row) => statusNow(row, now).status === "interrupted").length;
  return `${rows.length} ${moved} ${interrupted} ${Math.max(0, ...rows.map(({ updatedAt }) => updatedAt))}`;
}

// Each request for the balance counts toward the rate limit that jobs share.
const BALANCE_MS = 15_000;

interface Balance {
  readonly balanceMicros: number | null;
  readonly balanceError: string | null;
}

export class GaugeReader {
  readonly #show: () => Pick<Showrunner, "balance" | "client">;
  readonly #onLost: () => void;
  readonly #now: () => number;
  #balance: { readonly at: number; readonly answer: Promise<Balance> } | null = null;
  #sent: { readonly at: number; readonly total: number }[] = [];

  constructor(show: () => Pick<Showrunner, "balance" | "client">, onLost: () => void, now: () => number = Date.now) {
    this.#show = show;
    this.#onLost = onLost;
    this.#now = now;
  }

  async read() {
    return { ...(await this.#readBalance()), pace: this.#pace() };
  }

  forgetBalance(): void {
    this.#balance = null;
  }

  #readBalance(): Promise<Balance> {
    const at = this.#now();
    if (this.#balance === null || at - this.#balance.at >= BALANCE_MS) {
      const answer = this.#show()
        .balance()
        .then(
          ({ balanceMicros }) => ({ balanceMicros, balanceError: null }),
          (error: unknown) => {
            this.#onLost();
            return { balanceMicros: null, balanceError: cut(String((error as Error)?.message ?? error), 300) };
          },
        );
      this.#balance = { at, answer };
    }
    return this.#balance.answer;
  }

  #pace() {
    const { sent, inFlight = 0, queued = 0, pausedUntil = null, limit = null } = this.#show().client.pace();
    const at = this.#now();
    this.#sent = [...this.#sent.filter((earlier) => at - earlier.at <= MINUTE_MS), { at, total: sent }];
    return {
      sent,
      inFlight,
      queued,
      pausedUntil,
      limitPerMinute: limit === null ? null : Math.round((limit.requests * MINUTE_MS) / limit.perMs),
      lastMinute: sent - this.#sent[0]!.total,
    };
  }
}

export class Drivers {
  readonly #driven = new Set<string>();
  readonly #errors = new Map<string, string>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  async changed(runId: string, signal: AbortSignal): Promise<void> {
    await once(this.#changes, nameOf(runId), { signal }).catch(() => {});
  }

  isDriving(runId: string): boolean {
    return this.#driven.has(runId);
  }

  error(runId: string): string | null {
    return this.#errors.get(runId) ?? null;
  }

  /**
   * Follows a run that this process executes. Waits until `begins` settles or the run's execution ends, and rejects if
   * the execution fails first.
   */
  async follow(handle: RunHandle, begins: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { id } = handle;
    this.#driven.add(id);
    this.#errors.delete(id);
    this.#tell(id);
    const done = handle.result();
    done
      .catch((error: unknown) => this.#errors.set(id, error instanceof Error ? error.message : String(error)))
      .finally(() => {
        this.#driven.delete(id);
        this.#tell(id);
      });
    const settled = new AbortController();
    const begun = begins(settled.signal).catch(() => {});
    await Promise.race([done, begun]).finally(() => settled.abort());
  }

  #tell(runId: string): void {
    this.#changes.emit(nameOf(runId));
  }
}

// The prefix is needed because a run's id may be `error`, which is a special event.
const nameOf = (runId: string) => `run ${runId}`;
