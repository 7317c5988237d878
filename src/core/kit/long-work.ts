import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Number of items per turn of the event loop. It is fixed, because a time limit would make the behavior depend on the
 * load.
 */
const AT_ONCE = 250;

/** Splits work on many items into short turns, so that timers and I/O can run in between. */
export class LongWork {
  #done = 0;

  async pause(things = 1): Promise<void> {
    this.#done += things;
    if (this.#done >= AT_ONCE) await this.#next();
  }

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
