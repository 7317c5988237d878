interface Waiter {
  readonly ready: () => boolean;
  readonly wake: () => void;
  readonly fail: (error: unknown) => void;
}

/** The calls that wait for changes to runs. Code that changes a run must call `notify`. */
export class Waiters {
  readonly #byRun = new Map<string, Set<Waiter>>();

  get size(): number {
    return this.#byRun.size;
  }

  wait(runId: string, ready: () => boolean, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const aborted = () => waiter.fail(signal?.reason);
      const finish = (end: () => void) => {
        this.#remove(runId, waiter);
        signal?.removeEventListener("abort", aborted);
        end();
      };
      const waiter: Waiter = { ready, wake: () => finish(resolve), fail: (error) => finish(() => reject(error)) };
      this.#add(runId, waiter);
      signal?.addEventListener("abort", aborted, { once: true });
      check(waiter);
    });
  }

  notify(runId: string): void {
    for (const waiter of [...(this.#byRun.get(runId) ?? [])]) check(waiter);
  }

  notifyAll(): void {
    for (const runId of [...this.#byRun.keys()]) this.notify(runId);
  }

  failAll(error: unknown): void {
    for (const waiters of [...this.#byRun.values()]) for (const waiter of [...waiters]) waiter.fail(error);
  }

  #add(runId: string, waiter: Waiter): void {
    const waiters = this.#byRun.get(runId) ?? new Set();
    this.#byRun.set(runId, waiters.add(waiter));
  }

  #remove(runId: string, waiter: Waiter): void {
    const waiters = this.#byRun.get(runId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#byRun.delete(runId);
  }
}

function check(waiter: Waiter): void {
  try {
    if (waiter.ready()) waiter.wake();
  } catch (error) {
    waiter.fail(error);
  }
}
