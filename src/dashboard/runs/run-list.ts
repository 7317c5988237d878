import { type JournalStore, type RunRow, statusNow } from "../../index.ts";
import { runSummary, unreadable } from "../views/run-head.ts";
import type { RunSummary, RunsPage } from "../views/run-wire.ts";
import type { RunCache } from "./run-cache.ts";

export interface RunQuery {
  /** Part of the run's or the pipeline's name. */
  readonly search: string;
  /** Null: every status. */
  readonly status: string | null;
  readonly limit: number;
}

const MOST_ROWS = 1000;
const MOST_SUMMARIES = 2000;

/** The runs of a journal with what each one did so far; a run that did not move since is not read again. */
export class RunList {
  readonly #journal: JournalStore;
  readonly #cache: RunCache;
  readonly #summaries = new Map<
    string,
    { readonly seq: number; readonly createdAt: number; readonly status: string; readonly summary: RunSummary }
  >();

  constructor(journal: JournalStore, cache: RunCache) {
    this.#journal = journal;
    this.#cache = cache;
  }

  /** The newest ones that match. */
  async find(query: RunQuery): Promise<RunsPage> {
    const now = Date.now();
    const all = (await this.#journal.runs()).map((row) => statusNow(row, now));
    const requested = all.filter((row) => isWanted(row, query));
    const rows: RunSummary[] = [];
    for (const row of requested.slice(0, Math.min(query.limit, MOST_ROWS))) rows.push(await this.#summary(row));
    const byStatus: Record<string, number> = {};
    for (const { status } of all) byStatus[status] = (byStatus[status] ?? 0) + 1;
    return { rows, matching: requested.length, byStatus };
  }

  async #summary(row: RunRow): Promise<RunSummary> {
    const { runId, lastSeq: seq, createdAt, status } = row;
    const known = this.#summaries.get(runId);
    if (known?.seq === seq && known.createdAt === createdAt && known.status === status) return known.summary;
    const summary = await this.#read(row);
    this.#summaries.delete(runId);
    this.#summaries.set(runId, { seq, createdAt, status, summary });
    const oldest = this.#summaries.keys().next();
    if (this.#summaries.size > MOST_SUMMARIES && oldest.done !== true) this.#summaries.delete(oldest.value);
    return summary;
  }

  /** A run that cannot be read is listed as what its row says, and does not hide the others. */
  async #read(row: RunRow): Promise<RunSummary> {
    try {
      const { view, groups } = await this.#cache.upTo(row);
      return runSummary(view.state, row, groups?.counts());
    } catch (error) {
      return unreadable(row, error instanceof Error ? error.message : String(error));
    }
  }
}

function isWanted({ runId, pipeline, status }: RunRow, query: RunQuery): boolean {
  if (query.status !== null && status !== query.status) return false;
  const search = query.search.trim().toLowerCase();
  return search === "" || runId.toLowerCase().includes(search) || pipeline.toLowerCase().includes(search);
}
