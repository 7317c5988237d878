import { FoldedRun, loadRun, type RunRow, RunView, touchedSteps } from "../../../core/view/index.ts";
import type { JournalStore, StoredEvent } from "../../../index.ts";
import { inTurn, notFound } from "../../served/index.ts";
import { MOST_WHOLE, RunGroups } from "../views/run-groups.ts";

interface FoldedState {
  readonly view: RunView;
  groups: RunGroups | null;
}

export interface KnownRun extends FoldedState {
  readonly row: RunRow;
}

export class RunMemo<T> {
  readonly #most: number;
  readonly #known = new Map<string, { readonly mark: string; readonly found: T }>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Returns the cached value if neither the run nor `more` has changed since it was cached; otherwise calls `find`.
   * `of` distinguishes several cached values for one run.
   */
  async get(
    { runId, createdAt, lastSeq }: RunRow,
    find: () => Promise<T>,
    { of = "", more = "" }: { readonly of?: string; readonly more?: string | number } = {},
  ): Promise<T> {
    const key = `${of} ${runId}`;
    const mark = `${createdAt} ${lastSeq} ${more}`;
    const known = this.#known.get(key);
    if (known?.mark === mark) return known.found;
    const found = await find();
    keepLatest(this.#known, this.#most, key, { mark, found });
    return found;
  }

  keepOnly(rows: readonly RunRow[]): void {
    const kept = new Set(rows.map(({ runId }) => ` ${runId}`));
    for (const key of this.#known.keys()) if (!kept.has(key)) this.#known.delete(key);
  }
}

const MOST_VIEWS = 40;

export class RunCache {
  readonly #journal: JournalStore;
  readonly #views = new Map<string, FoldedState>();
  readonly #histories = new Map<string, { readonly createdAt: number; readonly run: FoldedRun }>();
  /** Loads in progress, by run. Loads of the same run wait for each other, because they change the same state. */
  readonly #loading = new Map<string, Promise<unknown>>();

  constructor(journal: JournalStore) {
    this.#journal = journal;
  }

  async get(runId: string): Promise<KnownRun> {
    const row = await this.#journal.run(runId);
    if (row === null) throw notFound("This run");
    return { row, ...(await this.upTo(row)) };
  }

  upTo(row: RunRow): Promise<FoldedState> {
    return inTurn(this.#loading, row.runId, () => this.#load(row));
  }

  async #load({ runId, lastSeq, createdAt }: RunRow): Promise<FoldedState> {
    const known = this.#views.get(runId);
    // The run may have been removed, and its id used again.
    const current =
      known?.view.state.createdAt === createdAt ? known : withGroups(new RunView(await loadRun(this.#journal, runId)));
    if (current.view.state.seq < lastSeq) {
      addTo(current, await this.#journal.read(runId, { afterSeq: current.view.state.seq }));
    }
    keepLatest(this.#views, MOST_VIEWS, runId, current);
    return current;
  }

  /**
   * Returns a run's history. Only the last one is cached, so that calling this again for the same run reads only new
   * events.
   */
  async history({ runId, createdAt }: RunRow): Promise<FoldedRun> {
    let known = this.#histories.get(runId);
    if (known?.createdAt !== createdAt) known = { createdAt, run: new FoldedRun() };
    this.#histories.clear();
    this.#histories.set(runId, known);
    await known.run.catchUp(this.#journal, runId);
    return known.run;
  }
}

function keepLatest<T>(kept: Map<string, T>, most: number, key: string, value: T): void {
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > most) kept.delete(oldest!);
}

function withGroups(view: RunView): FoldedState {
  return { view, groups: view.state.planned.plan.steps.length > MOST_WHOLE ? new RunGroups(view) : null };
}

function addTo(known: FoldedState, events: readonly StoredEvent[]): void {
  const { view, groups } = known;
  for (const event of events) view.add(event);
  const touched = touchedSteps(events.map(({ event }) => event));
  if (touched === "all") known.groups = withGroups(view).groups;
  else for (const path of groups === null ? [] : touched) groups?.update(view.step(path)!);
}
