import { weightOf } from "../../journal/snapshot.ts";
import type { RunState } from "../../journal/state.ts";
import type { RunRow } from "../../journal/store.ts";
import type { Code } from "../effects/functions.ts";

/** A run as a slice left it; the next slice reads only what others wrote since. */
export interface Remembered {
  readonly state: RunState;
  /** Of its local functions; null until a slice needed them. */
  code: Code | null;
}

/** Parts of states that are remembered at most, see `weightOf`: some tens of megabytes. */
const MOST_WEIGHT = 20_000;

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

  put(remembered: Remembered): void {
    const { runId } = remembered.state;
    const weight = weightOf(remembered.state);
    this.#kept.set(runId, { ...remembered, weight });
    this.#weight += weight;
    for (const [oldest, { weight: freed }] of this.#kept) {
      if (this.#weight <= MOST_WEIGHT) return;
      this.#kept.delete(oldest);
      this.#weight -= freed;
    }
  }
}
