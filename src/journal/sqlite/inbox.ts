import { inboxEntryOf } from "../rows.ts";
import type { InboxEntry, InboxMessage } from "../store.ts";
import type { Database } from "./database.ts";
import { requireKey } from "./runs.ts";
import { hastenWake } from "./wakes.ts";

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

/** True when the inbox holds an entry that is not among `consumed`. */
export function hasOtherEntries(db: Database, runKey: number, consumed: readonly number[]): boolean {
  const ids = new Set(consumed);
  const rows = db.all("SELECT id FROM inbox WHERE run_key = ? ORDER BY id", runKey);
  return rows.some((row) => !ids.has(db.columns.integer(row, "id")));
}

export function consumeEntries(db: Database, runKey: number, ids: readonly number[]): void {
  for (const id of ids) db.run("DELETE FROM inbox WHERE run_key = ? AND id = ?", runKey, id);
}
