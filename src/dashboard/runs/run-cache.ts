import { applyEvent, FOLD_VERSION, foldEvents, type JournalStore, type RunRow, type RunState } from "../../index.ts";
import { notFound } from "../http/refusal.ts";

/** A run's state as of its newest event, and its row. The state is shared: never change it. */
export interface KnownRun {
  readonly row: RunRow;
  readonly state: RunState;
}

const MOST_KEPT = 40;

/** States of runs, brought up to date by reading only the events that came since. */
export class RunCache {
  readonly #journal: JournalStore;
  readonly #states = new Map<string, RunState>();
  /** Two requests for one run wait for each other: both would add the same events to one state. */
  readonly #loading = new Map<string, Promise<RunState>>();

  constructor(journal: JournalStore) {
    this.#journal = journal;
  }

  /** @throws Refusal 404 */
  async get(runId: string): Promise<KnownRun> {
    const row = await this.#journal.run(runId);
    if (row === null) throw notFound("This run");
    return { row, state: await this.upTo(row) };
  }

  async upTo(row: RunRow): Promise<RunState> {
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

  async #load({ runId, lastSeq, createdAt }: RunRow): Promise<RunState> {
    const kept = this.#states.get(runId);
    // A run may have been removed, and another one made under its name.
    const state = kept?.createdAt === createdAt ? kept : await this.#fresh(runId);
    if (state.seq < lastSeq) {
      for (const event of await this.#journal.read(runId, { afterSeq: state.seq })) applyEvent(state, event);
    }
    this.#keep(runId, state);
    return state;
  }

  async #fresh(runId: string): Promise<RunState> {
    const snapshot = await this.#journal.snapshot(runId);
    if (snapshot?.foldVersion === FOLD_VERSION) return structuredClone(snapshot.state) as unknown as RunState;
    const state = foldEvents(await this.#journal.read(runId));
    if (state === null) throw notFound("This run");
    return state;
  }

  #keep(runId: string, state: RunState): void {
    this.#states.delete(runId);
    this.#states.set(runId, state);
    const oldest = this.#states.keys().next();
    if (this.#states.size > MOST_KEPT && oldest.done !== true) this.#states.delete(oldest.value);
  }
}
