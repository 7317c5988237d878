import { weightOf } from "../../journal/snapshot.ts";
import type { RunState } from "../../journal/state.ts";
import type { RunRow } from "../../journal/store.ts";
import type { DriveTools } from "../drive/drive-tools.ts";
import type { Code } from "../effects/functions.ts";

/** A run as a slice left it; the next slice reads only what others wrote since. */
export interface Remembered {
  readonly state: RunState;
  /** Of its local functions; null until a slice needed them. */
  code: Code | null;
  /** What the last slice worked with. */
  tools: DriveTools | null;
}

/** Parts of states that are remembered at most, see `weightOf`, the newest state left out: some tens of megabytes. */
const MOST_WEIGHT = 60_000;
/** What a run weighs beside its parts. */
const RUN_WEIGHT = 5;
/** Of a smaller run the next slice is as fast with tools of its own. */
const WORTH_TOOLS = 250;
/** A smaller run that is not due within so many milliseconds is read again. */
const SOON_MS = 60_000;

/** The states of the runs that had their slices last. What is taken out is put back only by a slice that went well. */
export class StateCache {
  readonly #kept = new Map<string, Remembered & { readonly weight: number }>();
  #weight = 0;

  take({ runId, createdAt, lastSeq }: RunRow): Remembered | null {
    const kept = this.#kept.get(runId);
    if (kept === undefined) return null;
    this.#kept.delete(runId);
    this.#weight -= kept.weight;
    // A run may be removed, and another one have its name.
    return kept.state.createdAt === createdAt && kept.state.seq <= lastSeq ? kept : null;
  }

  /** As it is now: for whoever only reads, and may see what the next slice does to it. */
  peek({ runId, createdAt, lastSeq }: RunRow): Remembered | null {
    const kept = this.#kept.get(runId);
    return kept?.state.createdAt === createdAt && kept.state.seq === lastSeq ? kept : null;
  }

  /** `dueInMs`: null where the run is idle. */
  put({ state, code, tools }: Remembered, dueInMs: number | null): void {
    // Of a run that continues, an event is at most one more part.
    if (tools !== null) tools.weight ??= weightOf(state);
    const weight = RUN_WEIGHT + (tools?.weight ?? weightOf(state));
    if (weight < WORTH_TOOLS && (dueInMs === null || dueInMs > SOON_MS)) return;
    this.#kept.set(state.runId, { state, code, tools: weight < WORTH_TOOLS ? null : tools, weight });
    this.#weight += weight;
    for (const [oldest, { weight: freed }] of this.#kept) {
      if (this.#weight <= MOST_WEIGHT || this.#kept.size === 1) return;
      this.#kept.delete(oldest);
      this.#weight -= freed;
    }
  }
}
