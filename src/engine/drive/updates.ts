import type { StoredEvent } from "../../journal/events.ts";
import type { Progress } from "../../journal/store.ts";

/** What a running run tells those who watch it: its events, and figures that are not worth an event. */
export type RunUpdate = StoredEvent | ({ readonly type: "progress" } & Progress);

/** Updates for any number of readers; each sees every event from the first on, and the progress since it joined. */
export class Updates {
  readonly #events: StoredEvent[] = [];
  readonly #listeners = new Set<(update: RunUpdate | null) => void>();
  #ended = false;

  /** Events that were pushed before are passed over, so that a journal may be pushed again after a pause. */
  push(events: readonly StoredEvent[]): void {
    const last = this.#events.at(-1)?.seq ?? 0;
    for (const event of events) {
      if (event.seq <= last) continue;
      this.#events.push(event);
      this.#tell(event);
    }
  }

  progress(progress: Progress): void {
    this.#tell({ type: "progress", ...progress });
  }

  end(): void {
    this.#ended = true;
    this.#tell(null);
  }

  async *read(): AsyncGenerator<RunUpdate, void, undefined> {
    const queue: (RunUpdate | null)[] = [...this.#events];
    if (this.#ended) queue.push(null);
    let wake: () => void = () => {};
    const listener = (update: RunUpdate | null) => {
      queue.push(update);
      wake();
    };
    this.#listeners.add(listener);
    try {
      for (;;) {
        const update = queue.shift();
        if (update === null) return;
        if (update !== undefined) yield update;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#listeners.delete(listener);
    }
  }

  #tell(update: RunUpdate | null): void {
    for (const listener of this.#listeners) listener(update);
  }
}
