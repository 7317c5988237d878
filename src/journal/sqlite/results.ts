import { resultOf } from "../rows.ts";
import type { CacheEntry, ResultsQuery, StoredResult } from "../store.ts";
import type { Database } from "./database.ts";

export function writeResults(db: Database, key: number, results: readonly CacheEntry[], at: number): void {
  for (const { step, fingerprint, model, took } of results) {
    db.run(
      "INSERT OR REPLACE INTO results (run_key, step, fingerprint, model, at, took_ms, settings, amount) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ...[key, step, fingerprint, model, at, took?.ms ?? null, took?.settings ?? null, took?.amount ?? null],
    );
  }
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
