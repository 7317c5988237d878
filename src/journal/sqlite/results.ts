import type { CacheEntry, ResultsQuery, StoredResult, Took } from "../store.ts";
import type { Database, Row } from "./database.ts";

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
  return selected(db, query, limit).map((row) => ({
    runId: db.columns.text(row, "run_id"),
    account: db.columns.text(row, "account"),
    step: db.columns.text(row, "step"),
    fingerprint: db.columns.text(row, "fingerprint"),
    model: db.columns.textOrNull(row, "model"),
    at: db.columns.integer(row, "at"),
    ...tookOf(db, row),
  }));
}

function tookOf({ columns }: Database, row: Row): { readonly took?: Took } {
  const [ms, settings, amount] = [
    columns.integerOrNull(row, "took_ms"),
    columns.textOrNull(row, "settings"),
    columns.realOrNull(row, "amount"),
  ];
  return ms === null || settings === null || amount === null ? {} : { took: { ms, settings, amount } };
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
