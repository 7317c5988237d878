import { DELIVERIES_KEPT_MS, type Delivery, type DeliveryOutcome, jobsOf, MOST_DELIVERIES } from "../deliveries.ts";
import type { RunEvent } from "../events.ts";
import { inboxEntryOf } from "../rows.ts";
import type { InboxEntry, InboxMessage } from "../store.ts";
import type { Database } from "./database.ts";
import { hastenWake, type RunRecord, requireKey } from "./runs.ts";

export function sendMessage(db: Database, runKey: number, message: InboxMessage, at: number): number {
  const body = JSON.stringify(message);
  db.run("INSERT INTO inbox (run_key, at, message) VALUES (?, ?, ?)", runKey, at, body);
  const row = db.get("SELECT last_insert_rowid() AS id") ?? {};
  hastenWake(db, runKey, at);
  return db.columns.integer(row, "id");
}

export function readInbox(db: Database, runId: string): readonly InboxEntry[] {
  const rows = db.all("SELECT id, at, message FROM inbox WHERE run_key = ? ORDER BY id", requireKey(db, runId));
  return rows.map((row) => inboxEntryOf(db.columns, row));
}

export function hasOtherEntries(db: Database, runKey: number, consumed: readonly number[]): boolean {
  const ids = new Set(consumed);
  const rows = db.all("SELECT id FROM inbox WHERE run_key = ? ORDER BY id", runKey);
  return rows.some((row) => !ids.has(db.columns.integer(row, "id")));
}

export function consumeEntries(db: Database, runKey: number, ids: readonly number[]): void {
  for (const id of ids) db.run("DELETE FROM inbox WHERE run_key = ? AND id = ?", runKey, id);
}

export function deliver(db: Database, { account, id, jobId, at }: Delivery): DeliveryOutcome {
  db.run("DELETE FROM deliveries WHERE at < ?", at - DELIVERIES_KEPT_MS);
  db.run(
    "INSERT INTO deliveries (account, name, job_id, at, waiting) VALUES (?, ?, ?, ?, 1) ON CONFLICT (account, name) DO NOTHING",
    account,
    id,
    jobId,
    at,
  );
  const row = db.get("SELECT id, waiting FROM deliveries WHERE account = ? AND name = ?", account, id)!;
  if (db.columns.integer(row, "waiting") === 0) return { outcome: "repeated", runIds: [] };
  const number = db.columns.integer(row, "id");
  db.run("DELETE FROM deliveries WHERE id <= ?", number - MOST_DELIVERIES);
  const jobs = db.all(
    "SELECT run_key, run_id, step, attempt FROM jobs JOIN runs USING (run_key) WHERE job_id = ? AND account = ?",
    jobId,
    account,
  );
  if (jobs.length === 0) return { outcome: "early", runIds: [] };
  for (const job of jobs) {
    const target = { step: db.columns.text(job, "step"), attempt: db.columns.integer(job, "attempt") };
    sendMessage(db, db.columns.integer(job, "run_key"), { type: "hint", ...target }, at);
  }
  db.run("UPDATE deliveries SET waiting = 0 WHERE id = ?", number);
  return { outcome: "delivered", runIds: jobs.map((job) => db.columns.text(job, "run_id")) };
}

/** Deliveries that arrived before their job was recorded move into the run's inbox. */
export function writeJobs(db: Database, { key, account }: RunRecord, events: readonly RunEvent[], at: number): void {
  for (const { step, attempt, jobId } of jobsOf(events)) {
    const values = [key, step, attempt, jobId];
    db.run("INSERT OR REPLACE INTO jobs (run_key, step, attempt, job_id) VALUES (?, ?, ?, ?)", ...values);
    const early = db.all("SELECT id FROM deliveries WHERE job_id = ? AND account = ? AND waiting = 1", jobId, account);
    for (const row of early) {
      sendMessage(db, key, { type: "hint", step, attempt }, at);
      db.run("UPDATE deliveries SET waiting = 0 WHERE id = ?", db.columns.integer(row, "id"));
    }
  }
}
