import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import {
  AccountMismatchError,
  IllegalEventError,
  JournalCorruptError,
  JournalNewerVersionError,
  RunUnknownError,
} from "./errors.ts";
import {
  apply,
  FOLD_VERSION,
  fold,
  isAsPlanned,
  type RunPlanned,
  runWithoutSteps,
  type StoredEvent,
} from "./events.ts";
import { newStep, type RunState, type StepState } from "./state.ts";
import type { FoldSnapshot, JournalStore } from "./store.ts";

export interface Account {
  readonly origin: string;
  readonly keyId: string;
}

export class RunRepository {
  readonly #store: JournalStore;
  readonly account: Account;

  constructor(store: JournalStore, account: Account) {
    this.#store = store;
    this.account = account;
  }

  load(runId: string): Promise<RunState> {
    return loadRun(this.#store, runId);
  }

  async all(): Promise<readonly RunState[]> {
    const rows = await this.#store.runs();
    return Promise.all(rows.map(({ runId }) => this.load(runId)));
  }

  async recent(limit: number): Promise<readonly RunState[]> {
    const rows = await this.#store.runs({ limit });
    const loaded = rows.map(({ runId }) =>
      this.load(runId).catch((error: unknown) => {
        if (isUnreadable(error)) return null;
        throw error;
      }),
    );
    return (await Promise.all(loaded)).filter((state) => state !== null);
  }

  isOurs({ planned: { baseUrl, keyId } }: RunState): boolean {
    return baseUrl === this.account.origin && keyId === this.account.keyId;
  }

  checkAccount(state: RunState): void {
    if (this.isOurs(state)) return;
    const { origin, keyId } = this.account;
    const { runId, planned } = state;
    throw new AccountMismatchError(runId, `key ${planned.keyId} at ${planned.baseUrl}`, `key ${keyId} at ${origin}`);
  }

  /**
   * Returns the ids of all runs' jobs, including adopted jobs that are not recorded yet, unless they were adopted for
   * the step `except`.
   */
  async knownJobs(except?: { readonly runId: string; readonly step: string }): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (const { runId } of await this.#store.runs()) {
      const adopted = new Map<string, string | null>();
      // A step's last message replaces its earlier ones.
      for (const { message } of await this.#store.inbox(runId))
        if (message.type === "adopt") adopted.set(message.step, message.jobId);
      if (runId === except?.runId) adopted.delete(except.step);
      for (const jobId of adopted.values()) if (jobId !== null) known.add(jobId);
      noteJobs(await this.load(runId), known);
    }
    return known;
  }
}

export function jobsOf(states: readonly RunState[]): ReadonlySet<string> {
  const known = new Set<string>();
  for (const state of states) noteJobs(state, known);
  return known;
}

function noteJobs({ steps }: RunState, known: Set<string>): void {
  for (const { attempts } of Object.values(steps)) {
    for (const { jobId } of attempts) if (jobId !== null) known.add(jobId);
  }
}

function isUnreadable(error: unknown): boolean {
  return [JournalCorruptError, JournalNewerVersionError, IllegalEventError].some((type) => error instanceof type);
}

type PackedStep = Partial<StepState> & Pick<StepState, "path">;

type PackedState = Omit<RunState, "planned" | "steps"> & {
  /** The current plan and terms. Null if they are still those of the first event. */
  readonly planned: RunPlanned | null;
  readonly steps: readonly PackedStep[];
};

/** How many events can be applied in the time that it takes to read a snapshot. */
const SHORT_TAIL = 200;
const SHORTEST_TAIL_UNDER_WAY = 1_000;
/** Cost of writing one step, attempt, output or file to a snapshot, relative to the cost of applying one event. */
const WORTH = 4;

export function weightOf({ steps, files }: RunState): number {
  let weight = files.length;
  for (const { attempts, outputs } of Object.values(steps)) {
    weight += 1 + attempts.length + (outputs?.length ?? 0);
  }
  return weight;
}

/**
 * What happens to a run after a commit: the process `continues` to execute it, or leaves it `parked` until a set time
 * or `idle` until a message arrives.
 */
type Leaving = "continues" | "parked" | "idle";

export function isSnapshotDue(tail: number, weight: number, leaving: Leaving): boolean {
  if (leaving === "idle") return tail >= SHORT_TAIL;
  return (
    tail >= (leaving === "parked" ? Math.max(SHORT_TAIL, weight) : Math.max(SHORTEST_TAIL_UNDER_WAY, WORTH * weight))
  );
}

/** Builds a snapshot, and yields after each step. The state must not change until the snapshot is complete. */
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

export const EVENTS_READ_AT_ONCE = 5000;

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

function isSame(value: unknown, initial: unknown): boolean {
  return value === initial || (Array.isArray(value) && Array.isArray(initial) && value.length === 0);
}

export function projectOf(journalFile: string): string {
  const folder = dirname(journalFile);
  return basename(folder) === ".showrunner" ? dirname(folder) : folder;
}

export function moved(planned: RunPlanned, { project }: JournalStore): RunPlanned {
  const { project: before, outDir } = planned;
  if (typeof before !== "string" || project === undefined || before === project) return planned;
  const below = relative(before, outDir);
  if (!isAbsolute(outDir) || below.startsWith("..") || isAbsolute(below) || existsSync(outDir)) return planned;
  return { ...planned, project, outDir: join(project, below) };
}
