import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { RunUnknownError } from "./errors.ts";
import type { RunPlanned, StoredEvent } from "./events.ts";
import { apply, FOLD_VERSION, fold, isAsPlanned, runWithoutSteps } from "./fold.ts";
import { newStep, type RunState, type StepState } from "./state.ts";
import type { FoldSnapshot, JournalStore } from "./store.ts";

type PackedStep = Partial<StepState> & Pick<StepState, "path">;

type PackedState = Omit<RunState, "planned" | "steps"> & {
  /** Null if the plan and terms are still those of the first event. */
  readonly planned: RunPlanned | null;
  readonly steps: readonly PackedStep[];
};

/** Maximum number of events that can be applied as fast as a snapshot can be read. */
const SHORT_TAIL = 200;
const SHORTEST_TAIL_UNDER_WAY = 1_000;
/** Number of events that can be applied while one part of a snapshot is written. */
const WORTH = 4;

/** Counts the parts of a state, which determine the cost of a snapshot. */
export function weightOf({ steps, files }: RunState): number {
  let weight = files.length;
  for (const { attempts, chats, failures, outputs } of Object.values(steps)) {
    weight += 1 + attempts.length + chats.length + failures.length + (outputs?.length ?? 0);
  }
  return weight;
}

/**
 * How a driver leaves a run: not at all (`continues`), until its next slice (`parked`), or until a message arrives
 * (`idle`).
 */
export type Leaving = "continues" | "parked" | "idle";

/** Returns whether to write a snapshot, `tail` events after the last one. */
export function isSnapshotDue(tail: number, weight: number, leaving: Leaving): boolean {
  if (leaving === "idle") return tail >= SHORT_TAIL;
  return (
    tail >= (leaving === "parked" ? Math.max(SHORT_TAIL, weight) : Math.max(SHORTEST_TAIL_UNDER_WAY, WORTH * weight))
  );
}

/** Creates a snapshot, and yields after each step. The state must not change meanwhile. */
export function* snapshotStepwise(state: RunState): Generator<void, FoldSnapshot> {
  const { planned, steps, ...rest } = state;
  const texts: string[] = [];
  for (const step of Object.values(steps)) {
    texts.push(JSON.stringify(packStep(step)));
    yield;
  }
  const packed: Omit<PackedState, "steps"> = { ...rest, planned: isAsPlanned(planned) ? null : planned };
  const text = `${JSON.stringify(packed).slice(0, -1)},"steps":[${texts.join(",")}]}`;
  return { foldVersion: FOLD_VERSION, seq: state.seq, state: text };
}

export function snapshotOf(state: RunState): FoldSnapshot {
  const stepwise = snapshotStepwise(state);
  for (;;) {
    const { done, value } = stepwise.next();
    if (done === true) return value;
  }
}

/** Maximum number of events per read, to limit the use of memory. */
export const EVENTS_READ_AT_ONCE = 5000;

/** Loads a run's state from its snapshot and the events after it, or from all events if the snapshot is unusable. */
export async function loadRun(store: JournalStore, runId: string): Promise<RunState> {
  const snapshot = await store.snapshot(runId);
  const state = snapshot === null ? null : await fromSnapshot(store, runId, snapshot).catch(() => null);
  const loaded = state ?? fold(await store.read(runId));
  if (loaded === null) throw new RunUnknownError(runId);
  loaded.planned = moved(loaded.planned, store);
  return loaded;
}

async function fromSnapshot(store: JournalStore, runId: string, snapshot: FoldSnapshot): Promise<RunState | null> {
  if (snapshot.foldVersion !== FOLD_VERSION) return null;
  const [first] = await store.read(runId, { limit: 1 });
  const state = first === undefined ? null : stateOf(snapshot, first);
  if (state === null) return null;
  for (const event of await store.read(runId, { afterSeq: snapshot.seq })) apply(state, event);
  return state;
}

/** Restores a state from a snapshot; returns null if the snapshot is from another run. */
function stateOf(snapshot: FoldSnapshot, first: StoredEvent): RunState | null {
  if (first.event.type !== "run.planned") return null;
  const packed = JSON.parse(snapshot.state) as PackedState | null;
  const isOfRun = packed?.runId === first.runId && packed.seq === snapshot.seq && Array.isArray(packed.steps);
  if (!isOfRun) return null;
  const { planned, steps, ...rest } = packed;
  const begun = runWithoutSteps(first.runId, first.event, first.at);
  const state: RunState = { ...begun, ...rest, planned: planned ?? begun.planned };
  for (const step of steps) state.steps[step.path] = { ...newStep(step.path), ...step };
  return state;
}

const fresh = newStep("");

function packStep(step: StepState): PackedStep {
  const packed: { [field: string]: unknown } = {};
  // A step may have fields that a new step lacks.
  for (const field of Object.keys(step) as (keyof StepState)[]) {
    if (!isSame(step[field], fresh[field])) packed[field] = step[field];
  }
  return packed as PackedStep;
}

/** Returns whether a field still has its initial value, which is a plain value or an empty list. */
function isSame(value: unknown, initial: unknown): boolean {
  return value === initial || (Array.isArray(value) && Array.isArray(initial) && value.length === 0);
}

/** Returns the absolute path of a journal file's project: the parent of `.showrunner`, or else the file's folder. */
export function projectOf(journalFile: string): string {
  const folder = dirname(journalFile);
  return basename(folder) === ".showrunner" ? dirname(folder) : folder;
}

/** Adapts a run's output folder if its project was moved and the old folder no longer exists. */
export function moved(planned: RunPlanned, { project }: JournalStore): RunPlanned {
  const { project: before, outDir } = planned;
  if (typeof before !== "string" || project === undefined || before === project) return planned;
  const below = relative(before, outDir);
  if (!isAbsolute(outDir) || below.startsWith("..") || isAbsolute(below) || existsSync(outDir)) return planned;
  return { ...planned, project, outDir: join(project, below) };
}
