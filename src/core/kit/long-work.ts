import { setImmediate as nextTurn } from "node:timers/promises";

/** Number of items per turn of the event loop: not a time limit, because behaviour would then depend on load. */
const AT_ONCE = 250;

/** Interrupts work on many items with pauses, in which timers and I/O run. */
export class LongWork {
  #done = 0;

  /** Counts items and pauses once enough were processed. */
  async pause(things = 1): Promise<void> {
    this.#done += things;
    if (this.#done >= AT_ONCE) await this.#next();
  }

  /** Runs a generator to its end; each `yield` may pause. */
  async finish<T>(work: Generator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      if (++this.#done >= AT_ONCE) await this.#next();
    }
  }

  async #next(): Promise<void> {
    this.#done = 0;
    await nextTurn();
  }
}
