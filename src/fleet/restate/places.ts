export interface Claim {
  readonly priority: number;
  /** When the work became due, in epoch milliseconds. */
  readonly since: number;
}

/**
 * Slots for concurrent work. The work with the highest priority goes first, then the work that has been due longest.
 */
export class Places {
  readonly #waiting: (Claim & { readonly enter: () => void; readonly refuse: () => void })[] = [];
  #free: number;
  #isClosed = false;

  constructor(free: number) {
    this.#free = free;
  }

  /** Resolves with a function that releases the slot. Rejects after `close` or on abort. */
  take({ priority, since }: Claim, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener("abort", refuse);
        const at = this.#waiting.indexOf(waiter);
        if (at !== -1) this.#waiting.splice(at, 1);
      };
      const refuse = () => {
        leave();
        reject(new Error("This worker accepts no more work."));
      };
      const enter = () => {
        leave();
        this.#free--;
        resolve(() => {
          this.#free++;
          this.#look();
        });
      };
      const waiter = { priority, since, enter, refuse };
      if (this.#isClosed || signal.aborted) return refuse();
      signal.addEventListener("abort", refuse);
      const at = this.#waiting.findIndex(
        (other) => other.priority < priority || (other.priority === priority && other.since > since),
      );
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
      this.#look();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const { refuse } of [...this.#waiting]) refuse();
  }

  #look(): void {
    while (this.#free > 0 && this.#waiting.length > 0) this.#waiting[0]!.enter();
  }
}
