/** So many at once in this process; of those that wait, the highest priority goes first, then the one that came first. */
export class Places {
  readonly #waiting: { readonly priority: number; readonly enter: () => void; readonly refuse: () => void }[] = [];
  #free: number;
  #isClosed = false;

  constructor(free: number) {
    this.#free = free;
  }

  /** Settles with what gives the place back. Rejects once these are closed, and when the signal aborts before. */
  take(priority: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener("abort", refuse);
        const at = this.#waiting.indexOf(waiter);
        if (at !== -1) this.#waiting.splice(at, 1);
      };
      const refuse = () => {
        leave();
        reject(new Error("This worker takes no more."));
      };
      const enter = () => {
        leave();
        this.#free--;
        resolve(() => {
          this.#free++;
          this.#look();
        });
      };
      const waiter = { priority, enter, refuse };
      if (this.#isClosed || signal.aborted) return refuse();
      signal.addEventListener("abort", refuse);
      const at = this.#waiting.findIndex((other) => other.priority < priority);
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
