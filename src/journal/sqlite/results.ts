import { resultOf } from "../rows.ts";
import type { CacheEntry, ResultsQuery, StoredResult } from "../store.ts";
import type { Database } from "./database.ts";

/** The result of a local function. */
type Free = readonly [step: string, fingerprint: string];

/** A row and its entries in three indexes cost more than the rest of a step that is free: those are sorted in when asked for. */
export function writeResults(db: Database, key: number, results: readonly CacheEntry[], at: number): void {
  const free: Free[] = [];
  for (const result of results) {
    if (result.model === null) free.push([result.step, result.fingerprint]);
    else writeResult(db, key, result, at);
  }
  if (free.length === 0) return;
  db.run("INSERT INTO unsorted_results (run_key, at, body) VALUES (?, ?, ?)", key, at, JSON.stringify(free));
}

const columns = "(run_key, step, fingerprint, model, at, took_ms, settings, amount)";

function writeResult(db: Database, key: number, { step, fingerprint, model, took }: CacheEntry, at: number): void {
  db.run(
    `INSERT OR REPLACE INTO results ${columns} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[key, step, fingerprint, model, at, took?.ms ?? null, took?.settings ?? null, took?.amount ?? null],
  );
}

/** Unless the step became a job since then, whose result is newer. */
function sortIn(db: Database, key: number, [step, fingerprint]: Free, at: number): void {
  db.run(
    `INSERT INTO results ${columns} VALUES (?, ?, ?, NULL, ?, NULL, NULL, NULL) ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint, model = NULL, at = excluded.at, took_ms = NULL, settings = NULL, amount = NULL WHERE model IS NULL OR excluded.at > at`,
    ...[key, step, fingerprint, at],
  );
}

/** Whether there may be results for this query that are not sorted in. */
export function hasUnsorted(db: Database, query: ResultsQuery): boolean {
  return !("model" in query) && firstUnsorted(db, query) !== undefined;
}

function firstUnsorted(db: Database, query: ResultsQuery) {
  const first = (where: string, ...values: string[]) =>
    db.get(`SELECT id, run_key, at, body FROM unsorted_results ${where}ORDER BY id LIMIT 1`, ...values);
  if (!("runId" in query)) return first("");
  return first("WHERE run_key = (SELECT run_key FROM runs WHERE run_id = ?) ", query.runId);
}

/** Sorts in what one commit brought, of those that the query asks for. */
export function sortResults(db: Database, query: ResultsQuery): void {
  const row = firstUnsorted(db, query);
  if (row === undefined) return;
  const { integer, json } = db.columns;
  const [id, key, at] = [integer(row, "id"), integer(row, "run_key"), integer(row, "at")];
  for (const result of json(row, "body") as readonly Free[]) sortIn(db, key, result, at);
  db.run("DELETE FROM unsorted_results WHERE id = ?", id);
}

/** In this order of tables: results by their index, then each one's run. */
const rows =
  "SELECT run_id, account, step, fingerprint, model, at, took_ms, settings, amount FROM results CROSS JOIN runs USING (run_key) WHERE";
const newest = "ORDER BY at DESC, run_key DESC, step LIMIT ?";

export function readResults(db: Database, query: ResultsQuery, limit: number): readonly StoredResult[] {
  return selected(db, query, limit).map((row) => resultOf(db.columns, row));
}

function selected(db: Database, query: ResultsQuery, limit: number) {
  if ("runId" in query) {
    return db.all(`${rows} run_key = (SELECT run_key FROM runs WHERE run_id = ?) ${newest}`, query.runId, limit);
  }
  const [column, value] =
    "fingerprint" in query
      ? ["fingerprint", query.fingerprint]
      : "step" in query
        ? ["step", query.step]
        : ["model", query.model];
  return db.all(`${rows} ${column} = ? AND account = ? ${newest}`, value, query.account, limit);
}
