import { handleOf, progressOf } from "../rows.ts";
import type { Progress, UploadHandleRow } from "../store.ts";
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

/** Keeps the handle and drops those that expired: their URLs are of no more use to anyone. */
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
