import { type JournalStore, loadRun, type RunRow, RunView } from "../../index.ts";
import { notFound } from "../http/refusal.ts";

/** A run's view as of its newest event, and its row. */
export interface KnownRun {
  readonly row: RunRow;
  readonly view: RunView;
}

const MOST_KEPT = 40;

/** Views of runs, brought up to date by reading only the events that came since. */
export class RunCache {
  readonly #journal: JournalStore;
  readonly #views = new Map<string, RunView>();
  /** Two requests for one run wait for each other: both would add the same events to one state. */
  readonly #loading = new Map<string, Promise<RunView>>();

  constructor(journal: JournalStore) {
    this.#journal = journal;
  }

  /** @throws Refusal 404 */
  async get(runId: string): Promise<KnownRun> {
    const row = await this.#journal.run(runId);
    if (row === null) throw notFound("This run");
    return { row, view: await this.upTo(row) };
  }

  async upTo(row: RunRow): Promise<RunView> {
    const { runId } = row;
    const before = this.#loading.get(runId) ?? Promise.resolve();
    const loading = before.then(
      () => this.#load(row),
      () => this.#load(row),
    );
    this.#loading.set(runId, loading);
    try {
      return await loading;
    } finally {
      if (this.#loading.get(runId) === loading) this.#loading.delete(runId);
    }
  }

  async #load({ runId, lastSeq, createdAt }: RunRow): Promise<RunView> {
    const kept = this.#views.get(runId);
    // A run may have been removed, and another one made under its name.
    const view = kept?.state.createdAt === createdAt ? kept : new RunView(await loadRun(this.#journal, runId));
    if (view.state.seq < lastSeq) {
      for (const event of await this.#journal.read(runId, { afterSeq: view.state.seq })) view.add(event);
    }
    this.#keep(runId, view);
    return view;
  }

  #keep(runId: string, view: RunView): void {
    this.#views.delete(runId);
    this.#views.set(runId, view);
    const oldest = this.#views.keys().next();
    if (this.#views.size > MOST_KEPT && oldest.done !== true) this.#views.delete(oldest.value);
  }
}
