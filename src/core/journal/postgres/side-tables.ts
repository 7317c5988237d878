import { randomUUID } from "node:crypto";
import type { Row } from "../columns.ts";
import { DELIVERIES_KEPT_MS, type Delivery, type DeliveryOutcome, MOST_DELIVERIES } from "../deliveries.ts";
import { RunUnknownError } from "../errors.ts";
import { slotOf } from "../record.ts";
import { LISTED_MS, linkColumns, type ReviewLinkRow, reviewLinkOf } from "../review-links.ts";
import { accountTotalsOf, handleOf, inboxEntryOf, ledgerTotalsOf, noticeOf, progressOf, resultOf } from "../rows.ts";
import {
  type AccountTotals,
  type InboxEntry,
  type InboxMessage,
  type IssuedQuote,
  issuedQuoteOf,
  type LedgerTotals,
  type NoticeClaim,
  type NoticeOutcome,
  type NoticeRow,
  type Progress,
  quoteColumns,
  REMEMBERED_MS,
  type ResultsQuery,
  type SpendingScope,
  type StoredResult,
  type UploadHandleRow,
} from "../store.ts";
import type { Database } from "./database.ts";
import { notDurable } from "./leases.ts";
import { newestVersion } from "./migrate.ts";

export async function sendMessage(
  db: Database,
  channel: string,
  runId: string,
  message: InboxMessage,
  at: number,
): Promise<number> {
  const [row] = await db.query("SELECT {s}.send_message($1, $2, $3, $4, $5, $6) AS id", [
    newestVersion,
    runId,
    at,
    JSON.stringify(message),
    randomUUID(),
    channel,
  ]);
  const id = db.columns.integerOrNull(row!, "id");
  if (id === null) throw new RunUnknownError(runId, db.place);
  return id;
}

export async function readInbox(db: Database, runId: string): Promise<readonly InboxEntry[]> {
  const sql =
    "SELECT i.id, i.at, i.message FROM {s}.runs r LEFT JOIN {s}.inbox i ON i.run_key = r.run_key AND i.message IS NOT NULL WHERE r.run_id = $1 ORDER BY i.id";
  return (await listOf(db, runId, sql, "id")).map((row) => inboxEntryOf(db.columns, row));
}

export async function readProgress(db: Database, runId: string): Promise<readonly Progress[]> {
  const sql =
    "SELECT p.step, p.fraction, p.estimated_completion_at FROM {s}.runs r LEFT JOIN {s}.progress p USING (run_key) WHERE r.run_id = $1 ORDER BY p.step";
  return (await listOf(db, runId, sql, "step")).map((row) => progressOf(db.columns, row));
}

/**
 * Runs a statement that lists data of one run. If there is no data, the statement must return one row in which `column`
 * is null.
 */
async function listOf(db: Database, runId: string, sql: string, column: string): Promise<readonly Row[]> {
  const rows = await db.query(sql, [runId]);
  if (rows.length === 0) throw new RunUnknownError(runId, db.place);
  return rows.filter((row) => row[column] !== null);
}

export async function writeProgress(db: Database, runId: string, progress: Progress): Promise<void> {
  const [row] = await db.query(
    `WITH run AS (SELECT run_key FROM {s}.runs WHERE run_id = $1 FOR KEY SHARE), written AS (
      INSERT INTO {s}.progress (run_key, step, fraction, estimated_completion_at) SELECT run_key, $2, $3, $4 FROM run
      ON CONFLICT (run_key, step) DO UPDATE
        SET fraction = excluded.fraction, estimated_completion_at = excluded.estimated_completion_at)
    SELECT ${notDurable} FROM run`,
    [runId, progress.step, progress.fraction, progress.estimatedCompletionAt],
  );
  if (row === undefined) throw new RunUnknownError(runId, db.place);
}

export async function spendingOf(
  db: Database,
  account: string,
  { tag, sinceAt }: SpendingScope,
): Promise<LedgerTotals> {
  if (tag === null && sinceAt === null) {
    const { heldMicros, settledMicros } = await accountTotals(db, account);
    return { heldMicros, settledMicros };
  }
  const [row] = await db.query(
    "SELECT coalesce(sum(held_micros), 0)::bigint AS held_micros, coalesce(sum(settled_micros), 0)::bigint AS settled_micros FROM {s}.spending WHERE account = $1 AND tag = $2 AND slot >= $3",
    [account, tag ?? "", sinceAt === null ? Number.MIN_SAFE_INTEGER : slotOf(sinceAt)],
  );
  return ledgerTotalsOf(db.columns, row!);
}

export async function accountTotals(db: Database, account: string): Promise<AccountTotals> {
  const sql = "SELECT held_micros, settled_micros, mark FROM {s}.accounts WHERE account = $1";
  return accountTotalsOf(db.columns, (await db.query(sql, [account]))[0]);
}

const resultColumns = "run_id, account, step, fingerprint, model, at, took_ms";
const newest = "ORDER BY at DESC, run_key DESC, step LIMIT $3";

export async function readResults(db: Database, query: ResultsQuery, limit: number): Promise<readonly StoredResult[]> {
  const rows = await selectResults(db, query, limit);
  return rows.map((row) => resultOf(db.columns, row));
}

function selectResults(db: Database, query: ResultsQuery, limit: number): Promise<readonly Row[]> {
  if ("runId" in query) {
    const sql = `SELECT ${resultColumns} FROM {s}.runs JOIN {s}.results USING (run_key) WHERE run_id = $1 ORDER BY at DESC, step LIMIT $2`;
    return db.query(sql, [query.runId, limit]);
  }
  const [column, value] = "fingerprint" in query ? ["fingerprint", query.fingerprint] : ["model", query.model];
  // Reads results by index, newest first, and then each result's run. A join would be slower.
  const sql = `SELECT ${resultColumns} FROM {s}.results CROSS JOIN LATERAL (
      SELECT run_id, account FROM {s}.runs WHERE run_key = results.run_key AND account = $2 OFFSET 0) run
    WHERE ${column} = $1 ${newest}`;
  return db.query(sql, [value, query.account, limit]);
}

const noticeColumns = "run_id, n.seq, n.event, n.body, n.attempts, n.due_at, n.last_error";

export async function readNotices(db: Database): Promise<readonly NoticeRow[]> {
  const rows = await db.query(
    `SELECT ${noticeColumns} FROM {s}.notices n JOIN {s}.runs USING (run_key) ORDER BY n.due_at, n.run_key, n.seq`,
  );
  return rows.map((row) => noticeOf(db.columns, row));
}

export async function claimNotices(db: Database, { at, untilAt, limit }: NoticeClaim): Promise<readonly NoticeRow[]> {
  const rows = await db.query(
    `WITH due AS (
      SELECT run_key, seq, due_at FROM {s}.notices WHERE due_at <= $1 ORDER BY due_at, run_key, seq LIMIT $3
      FOR UPDATE SKIP LOCKED), claimed AS (
      UPDATE {s}.notices n SET attempts = n.attempts + 1, due_at = $2 FROM due
      WHERE n.run_key = due.run_key AND n.seq = due.seq RETURNING n.*, due.due_at AS was_due_at)
    SELECT ${noticeColumns}, ${notDurable} FROM claimed n JOIN {s}.runs USING (run_key) ORDER BY n.was_due_at, n.run_key, n.seq`,
    [at, untilAt, limit],
  );
  return rows.map((row) => noticeOf(db.columns, row));
}

export async function resolveNotice(db: Database, runId: string, seq: number, outcome: NoticeOutcome): Promise<void> {
  const where = "WHERE run_key = (SELECT run_key FROM {s}.runs WHERE run_id = $1) AND seq = $2";
  if (outcome.delivered) await db.query(`DELETE FROM {s}.notices ${where}`, [runId, seq]);
  else {
    const sql = `UPDATE {s}.notices SET due_at = $3, last_error = $4 ${where}`;
    await db.query(sql, [runId, seq, outcome.dueAt, outcome.error]);
  }
}

export async function readHandle(db: Database, sha256: string, account: string): Promise<UploadHandleRow | null> {
  const sql =
    "SELECT sha256, account, url, content_type, expires_at FROM {s}.handles WHERE sha256 = $1 AND account = $2";
  const [row] = await db.query(sql, [sha256, account]);
  return row === undefined ? null : handleOf(db.columns, row);
}

export async function writeHandle(db: Database, row: UploadHandleRow, now: number): Promise<void> {
  await dropHandles(db, now, false);
  await db.query(
    `WITH unsynced AS MATERIALIZED (SELECT ${notDurable})
    INSERT INTO {s}.handles (sha256, account, url, content_type, expires_at) SELECT $1, $2, $3, $4, $5 FROM unsynced
    ON CONFLICT (sha256, account) DO UPDATE
      SET url = excluded.url, content_type = excluded.content_type, expires_at = excluded.expires_at`,
    [row.sha256, row.account, row.url, row.contentType, row.expiresAt],
  );
}

export async function dropHandles(db: Database, expiredAt: number, dryRun: boolean): Promise<number> {
  const sql = dryRun
    ? "SELECT count(*) AS expired FROM {s}.handles WHERE expires_at <= $1"
    : "WITH dropped AS (DELETE FROM {s}.handles WHERE expires_at <= $1 RETURNING 1) SELECT count(*) AS expired FROM dropped";
  const [row] = await db.query(sql, [expiredAt]);
  return db.columns.integer(row!, "expired");
}

export async function mediaInUse(db: Database, exceptRuns: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    "SELECT DISTINCT sha256 FROM {s}.media WHERE run_key <> ALL (SELECT run_key FROM {s}.runs WHERE run_id = ANY ($1))",
    [exceptRuns],
  );
  return new Set(rows.map((row) => db.columns.text(row, "sha256")));
}

export async function addReviewLink(db: Database, link: ReviewLinkRow): Promise<void> {
  await db.query("DELETE FROM {s}.review_links WHERE expires_at < $1", [link.createdAt - LISTED_MS]);
  const { id, secretHash, scope, createdAt, expiresAt, revokedAt, uses, maxUses } = link;
  await db.query(
    `INSERT INTO {s}.review_links (${linkColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
    [id, secretHash, JSON.stringify(scope), createdAt, expiresAt, revokedAt, uses, maxUses],
  );
}

export async function readReviewLink(db: Database, id: string): Promise<ReviewLinkRow | null> {
  const [row] = await db.query(`SELECT ${linkColumns} FROM {s}.review_links WHERE id = $1`, [id]);
  return row === undefined ? null : reviewLinkOf(db.columns, row);
}

export async function readReviewLinks(db: Database): Promise<readonly ReviewLinkRow[]> {
  const sql = `SELECT ${linkColumns} FROM {s}.review_links ORDER BY created_at DESC, id LIMIT 1000`;
  return (await db.query(sql)).map((row) => reviewLinkOf(db.columns, row));
}

export async function revokeReviewLink(db: Database, id: string, at: number): Promise<void> {
  await db.query("UPDATE {s}.review_links SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL", [id, at]);
}

/**
 * Counts one use of a link. Returns false if the link cannot be used anymore. The row stores the id of the last use, so
 * that a retried query is not counted twice.
 */
export async function useReviewLink(db: Database, id: string, at: number): Promise<boolean> {
  const sql = `UPDATE {s}.review_links SET uses = uses + CASE WHEN last_use = $3 THEN 0 ELSE 1 END, last_use = $3
    WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2 AND (uses < max_uses OR last_use = $3) RETURNING id`;
  return (await db.query(sql, [id, at, randomUUID()])).length > 0;
}

export async function issueQuote(db: Database, quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void> {
  await db.query("DELETE FROM {s}.quotes WHERE expires_at < $1", [at - REMEMBERED_MS]);
  const { id, account, basis, expiresAt } = quote;
  await db.query(`INSERT INTO {s}.quotes (${quoteColumns}) VALUES ($1, $2, $3, $4, NULL) ON CONFLICT (id) DO NOTHING`, [
    id,
    account,
    JSON.stringify(basis),
    expiresAt,
  ]);
}

export async function readQuote(db: Database, id: string): Promise<IssuedQuote | null> {
  const [row] = await db.query(`SELECT ${quoteColumns} FROM {s}.quotes WHERE id = $1`, [id]);
  return row === undefined ? null : issuedQuoteOf(db.columns, row);
}

/** Marks a quote as used by a run. Returns false if the quote is unknown, expired or used by another run. */
export async function useQuote(db: Database, id: string, runId: string, at: number): Promise<boolean> {
  const sql = `UPDATE {s}.quotes SET used_by = $2
    WHERE id = $1 AND (used_by = $2 OR used_by IS NULL AND expires_at > $3) RETURNING id`;
  return (await db.query(sql, [id, runId, at])).length > 0;
}

export async function deliver(db: Database, channel: string, delivery: Delivery): Promise<DeliveryOutcome> {
  const { account, id, jobId, at } = delivery;
  const rows = await db.query("SELECT * FROM {s}.deliver($1, $2, $3, $4, $5, $6, $7, $8)", [
    newestVersion,
    account,
    id,
    jobId,
    at,
    at - DELIVERIES_KEPT_MS,
    MOST_DELIVERIES,
    channel,
  ]);
  const { columns } = db;
  const outcome = columns.text(rows[0]!, "outcome") as DeliveryOutcome["outcome"];
  return { outcome, runIds: outcome === "delivered" ? rows.map((row) => columns.text(row, "run")) : [] };
}
