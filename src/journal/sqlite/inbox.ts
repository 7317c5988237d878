import type { InboxEntry, InboxMessage } from "../store.ts";
import type { Database } from "./database.ts";
import { requireKey } from "./runs.ts";

/** A hint that no run claimed for this long belongs to a job that nobody here made. */
const hintLifetimeMs = 7 * 24 * 3600 * 1000;

export function sendMessage(db: Database, runKey: number, message: InboxMessage, at: number): number {
  const body = JSON.stringify(message);
  db.run("INSERT INTO inbox (run_key, at, message) VALUES (?, ?, ?)", runKey, at, body);
  const row = db.get("SELECT last_insert_rowid() AS id") ?? {};
  return db.columns.integer(row, "id");
}

export function readInbox(db: Database, runId: string): readonly InboxEntry[] {
  const rows = db.all("SELECT id, at, message FROM inbox WHERE run_key = ? ORDER BY id", requireKey(db, runId));
  return rows.map((row) => ({
    id: db.columns.integer(row, "id"),
    at: db.columns.integer(row, "at"),
    // Written by `sendMessage` only, from a typed message.
    message: db.columns.json(row, "message") as InboxMessage,
  }));
}

export function lastInboxId(db: Database, runId: string): number {
  const row = db.get("SELECT max(id) AS id FROM inbox WHERE run_key = ?", requireKey(db, runId)) ?? {};
  return db.columns.integerOrNull(row, "id") ?? 0;
}

/** True when the inbox holds an entry that is not among `consumed`. */
export function hasOtherEntries(db: Database, runKey: number, consumed: readonly number[]): boolean {
  const ids = new Set(consumed);
  const rows = db.all("SELECT id FROM inbox WHERE run_key = ? ORDER BY id", runKey);
  return rows.some((row) => !ids.has(db.columns.integer(row, "id")));
}

export function consumeEntries(db: Database, runKey: number, ids: readonly number[]): void {
  for (const id of ids) db.run("DELETE FROM inbox WHERE run_key = ? AND id = ?", runKey, id);
}

/** Delivers a webhook's hint to the run that has the job, or keeps it until one does. */
export function sendToJob(db: Database, jobId: string, at: number): string | null {
  const row = db.get("SELECT run_key, run_id FROM jobs JOIN runs USING (run_key) WHERE job_id = ?", jobId);
  if (row === undefined) {
    db.run("DELETE FROM job_hints WHERE at < ?", at - hintLifetimeMs);
    db.run("INSERT OR REPLACE INTO job_hints (job_id, at) VALUES (?, ?)", jobId, at);
    return null;
  }
  sendMessage(db, db.columns.integer(row, "run_key"), { type: "webhook", jobId }, at);
  return db.columns.text(row, "run_id");
}

/** Moves hints that came ahead of the ack into the inbox of the run that now knows the job. */
export function deliverHints(db: Database, runKey: number, jobIds: readonly string[]): void {
  for (const jobId of jobIds) {
    const hint = db.get("SELECT at FROM job_hints WHERE job_id = ?", jobId);
    if (hint === undefined) continue;
    sendMessage(db, runKey, { type: "webhook", jobId }, db.columns.integer(hint, "at"));
    db.run("DELETE FROM job_hints WHERE job_id = ?", jobId);
  }
}
