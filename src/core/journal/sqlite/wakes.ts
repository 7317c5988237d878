import type { Json } from "../../plan/plan.ts";
import { type DueQuery, ON_TIME_MS, type Wake } from "../wakes.ts";
import type { Database } from "./database.ts";

export function writeWake(db: Database, runKey: number, { at, memo }: Wake): void {
  db.run("INSERT OR REPLACE INTO wakes (run_key, at, memo) VALUES (?, ?, ?)", runKey, at, JSON.stringify(memo));
}

/** Of a run that comes to rest: due with the next message. */
export function clearWake(db: Database, runKey: number): void {
  db.run("UPDATE wakes SET at = NULL, memo = 'null' WHERE run_key = ?", runKey);
}

/** A message makes a run due that an engine drives. */
export function hastenWake(db: Database, runKey: number, at: number): void {
  db.run("UPDATE wakes SET at = ? WHERE run_key = ? AND (at IS NULL OR at > ?)", at, runKey, at);
}

/** The memo, null also where no engine drives the run; and whether the run was parked and is looked at on time. */
export function takeMemo(db: Database, runKey: number, now: number): { readonly memo: Json; readonly parked: boolean } {
  const row = db.get("SELECT memo, at FROM wakes WHERE run_key = ?", runKey);
  if (row === undefined) return { memo: null, parked: false };
  db.run("UPDATE wakes SET memo = 'null' WHERE run_key = ?", runKey);
  // Written by `writeWake` only.
  const memo = db.columns.json(row, "memo") as Json;
  const dueAt = db.columns.integerOrNull(row, "at");
  return { memo, parked: memo !== null && dueAt !== null && now <= dueAt + ON_TIME_MS };
}

export function dueRuns(db: Database, { account, at, limit }: DueQuery): readonly string[] {
  const sql =
    "SELECT run_id FROM wakes JOIN runs USING (run_key) WHERE at <= ? AND account = ? ORDER BY at, run_key LIMIT ?";
  return db.all(sql, at, account, limit).map((row) => db.columns.text(row, "run_id"));
}
