import { LISTED_MS, linkColumns, type ReviewLinkRow, reviewLinkOf } from "../review-links.ts";
import { handleOf, noticeOf, progressOf } from "../rows.ts";
import type { NewNotice, NoticeClaim, NoticeOutcome, NoticeRow, Progress, UploadHandleRow } from "../store.ts";
import { type IssuedQuote, issuedQuoteOf, quoteColumns, REMEMBERED_MS } from "../store.ts";
import type { Database } from "./database.ts";
import { requireKey } from "./runs.ts";

export function readHandle(db: Database, sha256: string, account: string): UploadHandleRow | null {
  const row = db.get(
    "SELECT sha256, account, url, content_type, expires_at FROM handles WHERE sha256 = ? AND account = ?",
    sha256,
    account,
  );
  return row === undefined ? null : handleOf(db.columns, row);
}

export function writeHandle(db: Database, row: UploadHandleRow, now: number): void {
  db.run("DELETE FROM handles WHERE expires_at <= ?", now);
  db.run(
    "INSERT OR REPLACE INTO handles (sha256, account, url, content_type, expires_at) VALUES (?, ?, ?, ?, ?)",
    row.sha256,
    row.account,
    row.url,
    row.contentType,
    row.expiresAt,
  );
}

export function dropHandles(db: Database, expiredAt: number, dryRun: boolean): number {
  const row = db.get("SELECT count(*) AS expired FROM handles WHERE expires_at <= ?", expiredAt);
  if (!dryRun) db.run("DELETE FROM handles WHERE expires_at <= ?", expiredAt);
  return db.columns.integer(row!, "expired");
}

export function writeProgress(db: Database, runId: string, progress: Progress): void {
  db.run(
    "INSERT OR REPLACE INTO progress (run_key, step, fraction, estimated_completion_at) VALUES (?, ?, ?, ?)",
    requireKey(db, runId),
    progress.step,
    progress.fraction,
    progress.estimatedCompletionAt,
  );
}

export function readProgress(db: Database, runId: string): readonly Progress[] {
  const rows = db.all(
    "SELECT step, fraction, estimated_completion_at FROM progress WHERE run_key = ? ORDER BY step",
    requireKey(db, runId),
  );
  return rows.map((row) => progressOf(db.columns, row));
}

export function mediaInUse(db: Database, exceptRuns: readonly string[]): ReadonlySet<string> {
  const rows = db.all(
    "SELECT DISTINCT sha256 FROM media WHERE run_key NOT IN (SELECT run_key FROM json_each(?) JOIN runs ON run_id = value)",
    JSON.stringify(exceptRuns),
  );
  return new Set(rows.map((row) => db.columns.text(row, "sha256")));
}

export function addReviewLink(db: Database, link: ReviewLinkRow): void {
  db.run("DELETE FROM review_links WHERE expires_at < ?", link.createdAt - LISTED_MS);
  db.run(
    `INSERT INTO review_links (${linkColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    link.id,
    link.secretHash,
    JSON.stringify(link.scope),
    link.createdAt,
    link.expiresAt,
    link.revokedAt,
    link.uses,
    link.maxUses,
  );
}

export function readReviewLink(db: Database, id: string): ReviewLinkRow | null {
  const row = db.get(`SELECT ${linkColumns} FROM review_links WHERE id = ?`, id);
  return row === undefined ? null : reviewLinkOf(db.columns, row);
}

export function readReviewLinks(db: Database): readonly ReviewLinkRow[] {
  const rows = db.all(`SELECT ${linkColumns} FROM review_links ORDER BY created_at DESC, id LIMIT 1000`);
  return rows.map((row) => reviewLinkOf(db.columns, row));
}

export function revokeReviewLink(db: Database, id: string, at: number): void {
  db.run("UPDATE review_links SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", at, id);
}

const USE =
  "UPDATE review_links SET uses = uses + 1 WHERE id = ? AND revoked_at IS NULL AND expires_at > ? AND uses < max_uses RETURNING id";

export function useReviewLink(db: Database, id: string, at: number): boolean {
  db.writes += 1;
  return db.get(USE, id, at) !== undefined;
}

export function issueQuote(
  db: Database,
  { id, account, basis, expiresAt }: Omit<IssuedQuote, "usedBy">,
  at: number,
): void {
  db.run("DELETE FROM quotes WHERE expires_at < ?", at - REMEMBERED_MS);
  db.run(
    `INSERT INTO quotes (${quoteColumns}) VALUES (?, ?, ?, ?, NULL)`,
    id,
    account,
    JSON.stringify(basis),
    expiresAt,
  );
}

export function readQuote(db: Database, id: string): IssuedQuote | null {
  const row = db.get(`SELECT ${quoteColumns} FROM quotes WHERE id = ?`, id);
  return row === undefined ? null : issuedQuoteOf(db.columns, row);
}

export function useQuote(db: Database, id: string, runId: string, at: number): boolean {
  db.writes += 1;
  const sql =
    "UPDATE quotes SET used_by = ?1 WHERE id = ?2 AND (used_by = ?1 OR used_by IS NULL AND expires_at > ?3) RETURNING id";
  return db.get(sql, runId, id, at) !== undefined;
}

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

/** Lets callers skip the claim, which writes, if nothing is due. */
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
