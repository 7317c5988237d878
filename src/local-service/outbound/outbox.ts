import type { ServiceParts } from "../service-parts.ts";

interface QueueLimits {
  readonly total: number;
  readonly perLane: number;
}

interface Lane {
  readonly waiting: number[];
  active: number;
}

/** A queue with one lane for each destination. The lanes take turns, so a slow destination does not block others. */
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

  /**
   * Returns the next item, or null if none can start now. Call `done` with the item's lane when the item has been
   * processed.
   */
  take(): { readonly lane: string; readonly item: number } | null {
    if (this.#active >= this.#limits.total) return null;
    for (const [name, lane] of this.#lanes) {
      if (lane.active >= this.#limits.perLane) continue;
      const item = lane.waiting.shift();
      if (item === undefined) continue;
      lane.active += 1;
      this.#active += 1;
      // Moves the lane to the end, so that the lanes take turns.
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

const HOUR_S = 3600;

/** Returns the delay before the next attempt: 10, 30, 90, 270, 810 and 2430 seconds, and then an hour. */
export function delayAfter(failures: number): number {
  return Math.min(HOUR_S, 10 * 3 ** (failures - 1)) * 1000;
}

export function createOutbox(
  { outbound, onDefect }: Pick<ServiceParts, "outbound" | "onDefect">,
  limits: QueueLimits,
  send: (item: number) => Promise<void>,
) {
  const queue = new FairQueue(limits);
  let isClosed = false;

  function pump(): void {
    if (isClosed) return;
    for (let next = queue.take(); next; next = queue.take()) {
      const { lane, item } = next;
      outbound
        .during(send(item))
        .catch((error: unknown) => onDefect(error, ""))
        .finally(() => {
          queue.done(lane);
          pump();
        });
    }
  }

  return {
    isClosed: () => isClosed,
    push(lane: string, item: number): void {
      queue.push(lane, item);
      pump();
    },
    close(): void {
      isClosed = true;
    },
  };
}
