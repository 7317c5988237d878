import type { JournalStore, RunRow } from "../../index.ts";
import { runSummary, unreadable } from "../views/run-head.ts";
import type { RunSummary, RunsPage } from "../views/wire.ts";
import type { RunCache } from "./run-cache.ts";

export interface RunQuery {
  /** Part of the run's or the pipeline's name. */
  readonly search: string;
  /** Null: every status. */
  readonly status: string | null;
  readonly limit: number;
}

const MOST_ROWS = 200;

/** The newest runs that match, with what each one did so far. */
export async function listRuns(journal: JournalStore, cache: RunCache, query: RunQuery): Promise<RunsPage> {
  const all = await journal.runs();
  const wanted = all.filter((row) => isWanted(row, query));
  const rows: RunSummary[] = [];
  for (const row of wanted.slice(0, Math.min(query.limit, MOST_ROWS))) {
    rows.push(await summaryOf(cache, row));
  }
  const byStatus: Record<string, number> = {};
  for (const { status } of all) byStatus[status] = (byStatus[status] ?? 0) + 1;
  return { rows, matching: wanted.length, byStatus };
}

/** A run that cannot be read is listed as what its row says, and does not hide the others. */
async function summaryOf(cache: RunCache, row: RunRow): Promise<RunSummary> {
  try {
    return runSummary(await cache.upTo(row), row);
  } catch (error) {
    return unreadable(row, error instanceof Error ? error.message : String(error));
  }
}

function isWanted({ runId, pipeline, status }: RunRow, query: RunQuery): boolean {
  if (query.status !== null && status !== query.status) return false;
  const search = query.search.trim().toLowerCase();
  return search === "" || runId.toLowerCase().includes(search) || pipeline.toLowerCase().includes(search);
}
