import type { NewNotice, NoticeClaim, NoticeOutcome, NoticeRow } from "../notices.ts";
import { noticeOf } from "../rows.ts";
import type { Database } from "./database.ts";

const columns = "run_id, seq, event, body, attempts, due_at, last_error FROM notices JOIN runs USING (run_key)";

export function writeNotices(db: Database, runKey: number, notices: readonly NewNotice[], at: number): void {
  for (const { seq, event, body } of notices) {
    db.run(
      "INSERT INTO notices (run_key, seq, event, body, attempts, due_at) VALUES (?, ?, ?, ?, 0, ?)",
      runKey,
      seq,
      event,
      body,
      at,
    );
  }
}

export function readNotices(db: Database): readonly NoticeRow[] {
  return db.all(`SELECT ${columns} ORDER BY due_at, run_key, seq`).map((row) => noticeOf(db.columns, row));
}

/** Whether a claim would find anything: asked without the write that a claim is. */
export function hasDueNotices(db: Database, at: number): boolean {
  return db.get("SELECT 1 FROM notices WHERE due_at <= ? LIMIT 1", at) !== undefined;
}

export function claimNotices(db: Database, { at, untilAt, limit }: NoticeClaim): readonly NoticeRow[] {
  const due = db.all(`SELECT run_key, ${columns} WHERE due_at <= ? ORDER BY due_at, run_key, seq LIMIT ?`, at, limit);
  return due.map((row) => {
    db.run(
      "UPDATE notices SET attempts = attempts + 1, due_at = ? WHERE run_key = ? AND seq = ?",
      untilAt,
      db.columns.integer(row, "run_key"),
      db.columns.integer(row, "seq"),
    );
    const notice = noticeOf(db.columns, row);
    return { ...notice, attempts: notice.attempts + 1, dueAt: untilAt };
  });
}

export function resolveNotice(db: Database, runId: string, seq: number, outcome: NoticeOutcome): void {
  const where = "WHERE run_key = (SELECT run_key FROM runs WHERE run_id = ?) AND seq = ?";
  if (outcome.delivered) db.run(`DELETE FROM notices ${where}`, runId, seq);
  else db.run(`UPDATE notices SET due_at = ?, last_error = ? ${where}`, outcome.dueAt, outcome.error, runId, seq);
}
