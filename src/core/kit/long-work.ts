import { setImmediate as nextTurn } from "node:timers/promises";

/** Looking at so many things takes a few milliseconds. By count, so that nothing depends on how busy the machine is. */
const AT_ONCE = 250;

/** Work on many things, with pauses in which timers and answers have their turn. */
export class LongWork {
  #done = 0;

  /** After so many things: waits for the next turn once enough were done in this one. */
  async pause(things = 1): Promise<void> {
    this.#done += things;
    if (this.#done >= AT_ONCE) await this.#next();
  }

  /** Work that says where it can be left for a moment, to its end. */
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
