import type { StoredEvent } from "../../journal/events.ts";
import type { JournalStore, Progress, RunUpdate } from "../../journal/store.ts";

/** Number of events kept in memory. Readers that are further behind read older events from the journal. */
const RECENT_EVENTS = 1_000;

/**
 * Distributes a run's updates. Every reader gets all events from the beginning, but progress only from the time it
 * starts to read.
 */
export class Updates {
  readonly #journal: Pick<JournalStore, "read">;
  readonly #runId: string;
  readonly #recent: StoredEvent[] = [];
  readonly #listeners = new Set<(update: RunUpdate | null) => void>();
  #lastSeq: number;
  #ended = false;

  constructor(journal: Pick<JournalStore, "read">, runId: string, lastSeq: number) {
    this.#journal = journal;
    this.#runId = runId;
    this.#lastSeq = lastSeq;
  }

  push(events: readonly StoredEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.#lastSeq) continue;
      this.#lastSeq = event.seq;
      this.#recent.push(event);
      this.#tell(event);
    }
    if (this.#recent.length > 2 * RECENT_EVENTS) this.#recent.splice(0, this.#recent.length - RECENT_EVENTS);
  }

  progress(progress: Progress): void {
    this.#tell({ type: "progress", ...progress });
  }

  end(): void {
    this.#ended = true;
    this.#tell(null);
  }

  async *read(): AsyncGenerator<RunUpdate, void, undefined> {
    const queue: (RunUpdate | null)[] = this.#ended ? [null] : [];
    let wake: () => void = () => {};
    const listener = (update: RunUpdate | null) => {
      queue.push(update);
      wake();
    };
    const recent = [...this.#recent];
    const olderUpTo = this.#lastSeq - recent.length;
    this.#listeners.add(listener);
    try {
      yield* this.#readBack(olderUpTo);
      yield* recent;
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

  async *#readBack(upTo: number): AsyncGenerator<StoredEvent, void, undefined> {
    for (let afterSeq = 0; afterSeq < upTo; ) {
      const limit = Math.min(RECENT_EVENTS, upTo - afterSeq);
      const page = await this.#journal.read(this.#runId, { afterSeq, limit });
      yield* page;
      afterSeq = page.at(-1)?.seq ?? upTo;
    }
  }

  #tell(update: RunUpdate | null): void {
    for (const listener of this.#listeners) listener(update);
  }
}
