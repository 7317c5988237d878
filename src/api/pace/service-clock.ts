/**
 * How far the service's clock is ahead, from its Date headers. One header has whole seconds and an unknown delay, so
 * it gives a span; spans that overlap narrow each other, and one that does not starts anew, because a clock was set.
 */
export class ServiceClock {
  #low = Number.NEGATIVE_INFINITY;
  #high = Number.POSITIVE_INFINITY;

  observe(date: string | null, sentAt: number, receivedAt: number): void {
    const at = Date.parse(date ?? "");
    if (Number.isNaN(at)) return;
    const [low, high] = [at - receivedAt, at + 999 - sentAt];
    const overlaps = low <= this.#high && high >= this.#low;
    this.#low = overlaps ? Math.max(low, this.#low) : low;
    this.#high = overlaps ? Math.min(high, this.#high) : high;
  }

  /** Milliseconds to add to this machine's time; 0 as long as nothing speaks against it. */
  get offsetMs(): number {
    if (this.#low <= 0 && this.#high >= 0) return 0;
    return Math.round((this.#low + this.#high) / 2);
  }
}
