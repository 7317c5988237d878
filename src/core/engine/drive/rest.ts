import type { Clock } from "../../api/index.ts";

/** Where the loop of a run waits between two turns: until it is woken, or until an instant. */
export class Rest {
  readonly #clock: Clock;
  /** Something may have changed since the last turn began. */
  #isWoken = false;
  #end: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A turn begins: what comes from now on is for the next one. */
  turn(): void {
    this.#isWoken = false;
  }

  wake(): void {
    this.#isWoken = true;
    this.#end();
  }

  /** Epoch milliseconds; null: until it is woken. */
  async until(at: number | null): Promise<void> {
    if (this.#isWoken) return;
    let timer: { cancel(): void } | null = null;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      if (at !== null) timer = this.#clock.setTimer(Math.max(0, at - this.#clock.now()), resolve);
    });
    this.#end = () => {};
    (timer as { cancel(): void } | null)?.cancel();
  }
}
