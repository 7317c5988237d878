import { setImmediate as nextTurn } from "node:timers/promises";

/** After so long, milliseconds, timers and answers have their turn. */
const SLICE_MS = 10;

/** Long work on many things, in slices of a few milliseconds. */
export class Slices {
  #endsAt = performance.now() + SLICE_MS;

  /** Between two things: waits once a slice is over. */
  async pause(): Promise<void> {
    if (performance.now() >= this.#endsAt) await this.next();
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#endsAt = performance.now() + SLICE_MS;
  }

  /** Work that says where it can be left for a moment, to its end. */
  async finish<T>(work: Generator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      if (performance.now() >= this.#endsAt) await this.next();
    }
  }
}
