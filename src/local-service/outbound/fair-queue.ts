export interface QueueLimits {
  /** Taken out and not yet done, in all. */
  readonly total: number;
  /** And for one lane. */
  readonly perLane: number;
}

interface Lane {
  readonly waiting: number[];
  active: number;
}

/** Work in lanes, so that one slow destination does not hold up the others: lanes take turns, each first come first. */
export class FairQueue {
  readonly #limits: QueueLimits;
  readonly #lanes = new Map<string, Lane>();
  #active = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  push(lane: string, item: number): void {
    const known = this.#lanes.get(lane);
    if (known) known.waiting.push(item);
    else this.#lanes.set(lane, { waiting: [item], active: 0 });
  }

  /** The next piece of work that may begin now. `done` must be called with its lane afterwards. */
  take(): { readonly lane: string; readonly item: number } | null {
    if (this.#active >= this.#limits.total) return null;
    for (const [name, lane] of this.#lanes) {
      if (lane.active >= this.#limits.perLane) continue;
      const item = lane.waiting.shift();
      if (item === undefined) continue;
      lane.active += 1;
      this.#active += 1;
      // To the end of the line.
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      return { lane: name, item };
    }
    return null;
  }

  done(name: string): void {
    const lane = this.#lanes.get(name);
    if (!lane) return;
    lane.active -= 1;
    this.#active -= 1;
    if (lane.active === 0 && lane.waiting.length === 0) this.#lanes.delete(name);
  }
}
