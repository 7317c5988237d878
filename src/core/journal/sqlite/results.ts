import { resultOf } from "../rows.ts";
import type { CacheEntry, ResultsQuery, StoredResult } from "../store.ts";
import type { Database, Row } from "./database.ts";

type Free = readonly [step: string, fingerprint: string];

/** Indexing this many results blocks the event loop only for milliseconds. */
const SORTED_AT_ONCE = 1_000;

/** To save time, results of free steps are indexed only when they are needed. */
export function writeResults(db: Database, key: number, results: readonly CacheEntry[], at: number): void {
  const paid = results.filter(({ model }) => model !== null);
  // A paid step may have been a local function before. Index its older results first, so that the new one replaces
  // them.
  if (paid.length > 0) for (const row of unsortedOf(db, key)) sortIn(db, row);
  for (const result of paid) writeResult(db, key, result, at);
  const free = results.flatMap(({ step, fingerprint, model }): Free[] => (model === null ? [[step, fingerprint]] : []));
  if (free.length === 0) return;
  db.run("INSERT INTO unsorted_results (run_key, at, body) VALUES (?, ?, ?)", key, at, JSON.stringify(free));
}

function writeResult(db: Database, key: number, { step, fingerprint, model, tookMs }: CacheEntry, at: number): void {
  db.run(
    "INSERT OR REPLACE INTO results (run_key, step, fingerprint, model, at, took_ms) VALUES (?, ?, ?, ?, ?, ?)",
    key,
    step,
    fingerprint,
    model,
    at,
    tookMs ?? null,
  );
}

interface Unsorted {
  readonly id: number;
  readonly key: number;
  readonly at: number;
  readonly results: readonly Free[];
}

function unsorted({ columns: { integer, json } }: Database, row: Row): Unsorted {
  const results = json(row, "body") as readonly Free[];
  return { id: integer(row, "id"), key: integer(row, "run_key"), at: integer(row, "at"), results };
}

function unsortedOf(db: Database, key: number): readonly Unsorted[] {
  const rows = db.all("SELECT id, run_key, at, body FROM unsorted_results WHERE run_key = ? ORDER BY id", key);
  return rows.map((row) => unsorted(db, row));
}

function sortIn(db: Database, { id, key, at, results }: Unsorted): void {
  for (const [step, fingerprint] of results) writeResult(db, key, { step, fingerprint, model: null }, at);
  db.run("DELETE FROM unsorted_results WHERE id = ?", id);
}

export function lastUnsorted(db: Database): number | null {
  const row = db.get("SELECT id FROM unsorted_results ORDER BY id DESC LIMIT 1");
  return row === undefined ? null : db.columns.integer(row, "id");
}

export function sortResults(db: Database, upTo: number): boolean {
  for (let sorted = 0; sorted < SORTED_AT_ONCE; ) {
    const row = db.get("SELECT id, run_key, at, body FROM unsorted_results WHERE id <= ? ORDER BY id LIMIT 1", upTo);
    if (row === undefined) return true;
    const first = unsorted(db, row);
    sortIn(db, first);
    sorted += first.results.length;
  }
  return false;
}

/** The order of the tables makes SQLite search the results by index. */
const rows =
  "SELECT run_id, account, step, fingerprint, model, at, took_ms FROM results CROSS JOIN runs USING (run_key) WHERE";
const newest = "ORDER BY at DESC, run_key DESC, step";

export function readResults(db: Database, query: ResultsQuery, limit: number): readonly StoredResult[] {
  if ("runId" in query) return resultsOfRun(db, query.runId).slice(0, limit);
  const [column, value] = "fingerprint" in query ? ["fingerprint", query.fingerprint] : ["model", query.model];
  const found = db.all(`${rows} ${column} = ? AND account = ? ${newest} LIMIT ?`, value, query.account, limit);
  return found.map((row) => resultOf(db.columns, row));
}

function resultsOfRun(db: Database, runId: string): readonly StoredResult[] {
  const run = db.get("SELECT run_key, account FROM runs WHERE run_id = ?", runId);
  if (run === undefined) return [];
  const [key, account] = [db.columns.integer(run, "run_key"), db.columns.text(run, "account")];
  const sorted = db.all(`${rows} run_key = ? ${newest}`, key).map((row) => resultOf(db.columns, row));
  const later = unsortedOf(db, key);
  if (later.length === 0) return sorted;
  const byStep = new Map(sorted.map((result) => [result.step, result]));
  for (const { at, results } of later) {
    for (const [step, fingerprint] of results) byStep.set(step, { runId, account, step, fingerprint, model: null, at });
  }
  return [...byStep.values()].sort((a, b) => b.at - a.at || (a.step < b.step ? -1 : 1));
}
