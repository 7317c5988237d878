import type { MadeQuery, MadeRow, MadeStep } from "../store.ts";
import type { Database } from "./database.ts";
import type { RunRecord } from "./runs.ts";

export function writeMade(db: Database, run: RunRecord, made: readonly MadeStep[], at: number): void {
  for (const { step, fingerprint, model } of made) {
    db.run(
      "INSERT OR REPLACE INTO made (run_key, step, account, fingerprint, model, at) VALUES (?, ?, ?, ?, ?, ?)",
      ...[run.key, step, run.account, fingerprint, model, at],
    );
  }
}

const rows =
  "SELECT run_id, made.account AS account, step, fingerprint, model, at FROM made JOIN runs USING (run_key) WHERE";
const newest = "ORDER BY at DESC, run_key DESC, step LIMIT ?";

export function readMade(db: Database, query: MadeQuery, limit: number): readonly MadeRow[] {
  return selected(db, query, limit).map((row) => ({
    runId: db.columns.text(row, "run_id"),
    account: db.columns.text(row, "account"),
    step: db.columns.text(row, "step"),
    fingerprint: db.columns.text(row, "fingerprint"),
    model: db.columns.textOrNull(row, "model"),
    at: db.columns.integer(row, "at"),
  }));
}

function selected(db: Database, query: MadeQuery, limit: number) {
  if ("runId" in query) return db.all(`${rows} runs.run_id = ? ${newest}`, query.runId, limit);
  const [column, value] =
    "fingerprint" in query
      ? ["fingerprint", query.fingerprint]
      : "step" in query
        ? ["step", query.step]
        : ["model", query.model];
  return db.all(`${rows} made.account = ? AND made.${column} = ? ${newest}`, query.account, value, limit);
}
