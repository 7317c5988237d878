import { setTimeout as sleep } from "node:timers/promises";
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
import type { JournalStore, StoredEvent } from "../../../index.ts";
import { notFound } from "../../served/index.ts";
import type { EventStream } from "../http/answer.ts";
import type { Drivers } from "../runs/driven-runs.ts";
import type { RunCache } from "../runs/run-cache.ts";
import { stepView } from "../views/page-step.ts";
import { MOST_WHOLE, type RunGroups } from "../views/run-groups.ts";
import { runHead } from "../views/run-head.ts";
import { eventLine } from "../views/step-detail.ts";
import type { GaugeReader } from "./gauges.ts";

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

/** Sends the whole run if the reader has no earlier data. */
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
    /** Whether the reader must discard its copy. */
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

/** Includes all decisions, because their choices may have changed. */
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

/** Polls, because the journal has no event for this. */
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
  // Polled separately: a service that does not answer must not delay the runs.
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
