import { DELIVERIES_KEPT_MS, type Delivery, type DeliveryOutcome, jobsOf, MOST_DELIVERIES } from "../deliveries.ts";
import type { RunEvent } from "../events.ts";
import { LISTED_MS, linkColumns, type ReviewLinkRow, reviewLinkOf } from "../review-links.ts";
import { handleOf, inboxEntryOf, noticeOf, progressOf, resultOf } from "../rows.ts";
import {
  type CacheEntry,
  type InboxEntry,
  type InboxMessage,
  type IssuedQuote,
  issuedQuoteOf,
  type NewNotice,
  type NoticeClaim,
  type NoticeOutcome,
  type NoticeRow,
  type Progress,
  quoteColumns,
  REMEMBERED_MS,
  type ResultsQuery,
  type StoredResult,
  type UploadHandleRow,
} from "../store.ts";
import type { Database, Row } from "./database.ts";
import { hastenWake, type RunRecord, requireKey } from "./runs.ts";

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

/** Returns true if a notification is due. Callers check this first, because claiming takes a write transaction. */
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

type Free = readonly [step: string, fingerprint: string];

/** Number of results to index at a time: few enough to block the event loop for only a few milliseconds. */
const SORTED_AT_ONCE = 1_000;

/** Stores reusable results. To save time, results of free steps are indexed only when they are needed. */
export function writeResults(db: Database, key: number, results: readonly CacheEntry[], at: number): void {
  const paid = results.filter(({ model }) => model !== null);
  // A paid step may have been a local function before. Index its older results first, so that the new one replaces
  // them.
  if (paid.length > 0) for (const row of unsortedOf(db, key)) sortIn(db, row);
  for (const result of paid) writeResult(db, key, result, at);
  const free = results.flatMap(({ step, fingerprint, model }): Free[] => (model === null ? [[step, fingerprint]] : []));
  if (free.length === 0) return;
  db.run("INSERT INTO unsorted_results (run_key, at, body) VALUES (?, ?, ?)", key, at, JSON.stringify(free));
}

function writeResult(db: Database, key: number, { step, fingerprint, model, tookMs }: CacheEntry, at: number): void {
  db.run(
    "INSERT OR REPLACE INTO results (run_key, step, fingerprint, model, at, took_ms) VALUES (?, ?, ?, ?, ?, ?)",
    key,
    step,
    fingerprint,
    model,
    at,
    tookMs ?? null,
  );
}

interface Unsorted {
  readonly id: number;
  readonly key: number;
  readonly at: number;
  readonly results: readonly Free[];
}

function unsorted({ columns: { integer, json } }: Database, row: Row): Unsorted {
  const results = json(row, "body") as readonly Free[];
  return { id: integer(row, "id"), key: integer(row, "run_key"), at: integer(row, "at"), results };
}

function unsortedOf(db: Database, key: number): readonly Unsorted[] {
  const rows = db.all("SELECT id, run_key, at, body FROM unsorted_results WHERE run_key = ? ORDER BY id", key);
  return rows.map((row) => unsorted(db, row));
}

function sortIn(db: Database, { id, key, at, results }: Unsorted): void {
  for (const [step, fingerprint] of results) writeResult(db, key, { step, fingerprint, model: null }, at);
  db.run("DELETE FROM unsorted_results WHERE id = ?", id);
}

export function lastUnsorted(db: Database): number | null {
  const row = db.get("SELECT id FROM unsorted_results ORDER BY id DESC LIMIT 1");
  return row === undefined ? null : db.columns.integer(row, "id");
}

export function sortResults(db: Database, upTo: number): boolean {
  for (let sorted = 0; sorted < SORTED_AT_ONCE; ) {
    const row = db.get("SELECT id, run_key, at, body FROM unsorted_results WHERE id <= ? ORDER BY id LIMIT 1", upTo);
    if (row === undefined) return true;
    const first = unsorted(db, row);
    sortIn(db, first);
    sorted += first.results.length;
  }
  return false;
}

/**
 * Start of a query for results. `CROSS JOIN` makes SQLite read the tables in this order, so that it can use an index to
 * find the results.
 */
const rows =
  "SELECT run_id, account, step, fingerprint, model, at, took_ms FROM results CROSS JOIN runs USING (run_key) WHERE";
const newest = "ORDER BY at DESC, run_key DESC, step";

export function readResults(db: Database, query: ResultsQuery, limit: number): readonly StoredResult[] {
  if ("runId" in query) return resultsOfRun(db, query.runId).slice(0, limit);
  const [column, value] = "fingerprint" in query ? ["fingerprint", query.fingerprint] : ["model", query.model];
  const found = db.all(`${rows} ${column} = ? AND account = ? ${newest} LIMIT ?`, value, query.account, limit);
  return found.map((row) => resultOf(db.columns, row));
}

function resultsOfRun(db: Database, runId: string): readonly StoredResult[] {
  const run = db.get("SELECT run_key, account FROM runs WHERE run_id = ?", runId);
  if (run === undefined) return [];
  const [key, account] = [db.columns.integer(run, "run_key"), db.columns.text(run, "account")];
  const sorted = db.all(`${rows} run_key = ? ${newest}`, key).map((row) => resultOf(db.columns, row));
  const later = unsortedOf(db, key);
  if (later.length === 0) return sorted;
  const byStep = new Map(sorted.map((result) => [result.step, result]));
  for (const { at, results } of later) {
    for (const [step, fingerprint] of results) byStep.set(step, { runId, account, step, fingerprint, model: null, at });
  }
  return [...byStep.values()].sort((a, b) => b.at - a.at || (a.step < b.step ? -1 : 1));
}

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

/** Records the jobs that the events name. If a job's webhook arrived earlier, adds a hint to the run's inbox. */
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
