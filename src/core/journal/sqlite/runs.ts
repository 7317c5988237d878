import { type Tags, tagTexts } from "../../kit/tags.ts";
import type { Json } from "../../plan/plan.ts";
import { RunExistsError, RunUnknownError } from "../errors.ts";
import { decodeEvents, type EventRecord, SIGNED_BODY } from "../event-codec.ts";
import { EVENT_VERSION, type RunEvent, type StoredEvent } from "../events.ts";
import { accountOf, mediaOf } from "../record.ts";
import { runOf } from "../rows.ts";
import { type RunsQuery, searchText, searchWords } from "../search.ts";
import {
  type DueQuery,
  type FoldSnapshot,
  type LedgerTotals,
  ON_TIME_MS,
  type RemoveOutcome,
  type RunRow,
  type Wake,
} from "../store.ts";
import { type Database, type EncodedText, type Row, unpackText } from "./database.ts";

export function writeWake(db: Database, runKey: number, { at, memo }: Wake): void {
  db.run("INSERT OR REPLACE INTO wakes (run_key, at, memo) VALUES (?, ?, ?)", runKey, at, JSON.stringify(memo));
}

/** Makes the run due only when its next message arrives. */
export function clearWake(db: Database, runKey: number): void {
  db.run("UPDATE wakes SET at = NULL, memo = 'null' WHERE run_key = ?", runKey);
}

/** Makes the run due no later than `at`. Has no effect on a run without an engine. */
export function hastenWake(db: Database, runKey: number, at: number): void {
  db.run("UPDATE wakes SET at = ? WHERE run_key = ? AND (at IS NULL OR at > ?)", at, runKey, at);
}

export function takeMemo(db: Database, runKey: number, now: number): { readonly memo: Json; readonly parked: boolean } {
  const row = db.get("SELECT memo, at FROM wakes WHERE run_key = ?", runKey);
  if (row === undefined) return { memo: null, parked: false };
  db.run("UPDATE wakes SET memo = 'null' WHERE run_key = ?", runKey);
  // Only `writeWake` writes the memo, so the cast is safe.
  const memo = db.columns.json(row, "memo") as Json;
  const dueAt = db.columns.integerOrNull(row, "at");
  return { memo, parked: memo !== null && dueAt !== null && now <= dueAt + ON_TIME_MS };
}

export function dueRuns(db: Database, { account, at, limit }: DueQuery): readonly string[] {
  const sql =
    "SELECT run_id FROM wakes JOIN runs USING (run_key) WHERE at <= ? AND account = ? ORDER BY at, run_key LIMIT ?";
  return db.all(sql, at, account, limit).map((row) => db.columns.text(row, "run_id"));
}

export interface RunRecord {
  readonly key: number;
  readonly account: string;
  readonly tags: Tags;
  readonly lastSeq: number;
  readonly status: string;
  readonly resumeAt: number | null;
  readonly snapshotSeq: number;
  readonly epoch: number;
  readonly isLeased: boolean;
  readonly leaseExpiresAt: number;
  readonly ledger: LedgerTotals;
}

/**
 * SQL for a run's newest sequence number and update time. For a leased run, both come from its last event, because most
 * of its commits write only events.
 */
const lastSeq = ofLeased("last_seq", "seq");
const updatedAt = ofLeased("updated_at", "at");
const wakeAt = "(SELECT at FROM wakes WHERE wakes.run_key = runs.run_key) AS wake_at";
const summary = `run_id, pipeline, title, account, created_at, ${updatedAt}, ${lastSeq}, status, tags, resume_at, lease_holder, lease_expires_at, ${wakeAt}`;

function ofLeased(column: string, ofEvent: string): string {
  const newer = `SELECT ${ofEvent} FROM events e WHERE e.run_key = runs.run_key AND e.seq > last_seq ORDER BY seq DESC LIMIT 1`;
  return `iif(lease_holder IS NULL, ${column}, coalesce((${newer}), ${column})) AS ${column}`;
}

export function createRun(
  db: Database,
  runId: string,
  first: { readonly event: RunEvent & { readonly type: "run.planned" }; readonly body: EncodedText },
  { at, wake }: { readonly at: number; readonly wake?: Wake | undefined },
): void {
  if (runKey(db, runId) !== null) throw new RunExistsError(runId);
  const { tags = {}, title = null } = first.event;
  db.run(
    "INSERT INTO runs (run_id, pipeline, title, account, created_at, updated_at, last_seq, snapshot_seq, status, epoch, lease_holder, lease_expires_at, held_micros, settled_micros, tags) VALUES (?, ?, ?, ?, ?, ?, 1, 0, 'planned', 0, NULL, 0, 0, 0, ?)",
    runId,
    first.event.plan.pipeline,
    title,
    accountOf(first.event),
    at,
    at,
    JSON.stringify(tags),
  );
  const key = requireKey(db, runId);
  for (const tag of tagTexts(tags)) db.run("INSERT INTO run_tags (tag, run_key) VALUES (?, ?)", tag, key);
  db.run("INSERT INTO run_texts (run_key, text) VALUES (?, ?)", key, searchText(runId, first.event));
  writeEvents(db, key, { lastSeq: 1, at, body: first.body });
  writeMedia(db, key, [first.event]);
  if (wake !== undefined) writeWake(db, key, wake);
}

export function writeMedia(db: Database, key: number, events: readonly RunEvent[]): void {
  for (const sha256 of events.flatMap(mediaOf)) {
    db.run("INSERT OR IGNORE INTO media (run_key, sha256) VALUES (?, ?)", key, sha256);
  }
}

export function writeEvents(
  db: Database,
  key: number,
  { lastSeq, at, body }: { readonly lastSeq: number; readonly at: number; readonly body: EncodedText },
): void {
  db.run(
    "INSERT INTO events (run_key, seq, at, version, body) VALUES (?, ?, ?, ?, ?)",
    key,
    lastSeq,
    at,
    EVENT_VERSION,
    body,
  );
}

export function runRow(db: Database, runId: string): RunRow | null {
  const row = db.get(`SELECT ${summary} FROM runs WHERE run_id = ?`, runId);
  return row === undefined ? null : runOf(db.columns, row);
}

export function newestRuns(
  db: Database,
  { limit = -1, before = Number.MAX_SAFE_INTEGER, tags, search = "" }: RunsQuery,
): readonly RunRow[] {
  const texts = tagTexts(tags);
  const words = searchWords(search);
  const tagged = "AND EXISTS (SELECT 1 FROM run_tags t WHERE t.tag = ? AND t.run_key = runs.run_key) ".repeat(
    texts.length,
  );
  const found =
    "AND EXISTS (SELECT 1 FROM run_texts f WHERE f.run_key = runs.run_key AND instr(f.text, ?) > 0) ".repeat(
      words.length,
    );
  const sql = `SELECT ${summary} FROM runs WHERE created_at < ? ${tagged}${found}ORDER BY created_at DESC, run_key DESC LIMIT ?`;
  return db.all(sql, before, ...texts, ...words, limit).map((row) => runOf(db.columns, row));
}

export function requireRun(db: Database, runId: string): RunRecord {
  const row = db.get(
    `SELECT run_key, account, tags, ${lastSeq}, status, resume_at, snapshot_seq, epoch, lease_holder, lease_expires_at, held_micros, settled_micros FROM runs WHERE run_id = ?`,
    runId,
  );
  if (row === undefined) throw new RunUnknownError(runId, db.path);
  const { columns } = db;
  return {
    key: columns.integer(row, "run_key"),
    account: columns.text(row, "account"),
    tags: columns.json(row, "tags") as Tags,
    lastSeq: columns.integer(row, "last_seq"),
    status: columns.text(row, "status"),
    resumeAt: columns.integerOrNull(row, "resume_at"),
    snapshotSeq: columns.integer(row, "snapshot_seq"),
    epoch: columns.integer(row, "epoch"),
    isLeased: row.lease_holder !== null,
    leaseExpiresAt: columns.integer(row, "lease_expires_at"),
    ledger: { heldMicros: columns.integer(row, "held_micros"), settledMicros: columns.integer(row, "settled_micros") },
  };
}

/** Returns a run's row, from memory if possible. Call this only within a write transaction. */
export function leasedRun(db: Database, runId: string): RunRecord {
  const known = db.knownRuns.get(runId) as RunRecord | undefined;
  if (known !== undefined) return known;
  const run = requireRun(db, runId);
  db.knownRuns.set(runId, run);
  return run;
}

export function noteEvents(db: Database, runId: string, run: RunRecord, lastSeq: number): void {
  db.knownRuns.set(runId, { ...run, lastSeq });
}

function runKey(db: Database, runId: string): number | null {
  const row = db.get("SELECT run_key FROM runs WHERE run_id = ?", runId);
  return row === undefined ? null : db.columns.integer(row, "run_key");
}

export function requireKey(db: Database, runId: string): number {
  const key = runKey(db, runId);
  if (key === null) throw new RunUnknownError(runId, db.path);
  return key;
}

export function readEvents(db: Database, runId: string, afterSeq: number, rows: number): readonly StoredEvent[] {
  const key = requireKey(db, runId);
  const records = db.all(
    "SELECT seq, at, version, body FROM events WHERE run_key = ? AND seq > ? ORDER BY seq LIMIT ?",
    key,
    afterSeq,
    rows,
  );
  const origin = { path: db.path, runId, signature: (seq: number) => signature(db, key, seq) };
  return decodeEvents(
    records.map((row) => recordOf(db, row)),
    afterSeq,
    origin,
  );
}

function signature(db: Database, key: number, seq: number): string | null {
  const row = db.get(
    "SELECT body FROM events WHERE run_key = ? AND seq < ? AND body LIKE ? ORDER BY seq DESC LIMIT 1",
    key,
    seq,
    `${SIGNED_BODY}%`,
  );
  return row === undefined ? null : db.columns.text(row, "body");
}

function recordOf({ columns }: Database, row: Row): EventRecord {
  return {
    seq: columns.integer(row, "seq"),
    at: columns.integer(row, "at"),
    version: columns.integer(row, "version"),
    // Damage is reported later, with the event's number.
    body: unpackText(row.body) ?? "",
  };
}

export function readSnapshot(db: Database, runId: string): FoldSnapshot | null {
  const row = db.get("SELECT fold_version, seq, state FROM snapshots WHERE run_key = ?", requireKey(db, runId));
  const state = unpackText(row?.state);
  if (row === undefined || state === null) return null;
  try {
    return { foldVersion: db.columns.integer(row, "fold_version"), seq: db.columns.integer(row, "seq"), state };
  } catch {
    return null;
  }
}

const tablesOfRun = [
  "events",
  "snapshots",
  "wakes",
  "inbox",
  "ledger",
  "jobs",
  "media",
  "results",
  "unsorted_results",
  "notices",
  "progress",
  "run_texts",
  "runs",
];

export function removeRun(db: Database, runId: string, at: number): RemoveOutcome {
  if (runKey(db, runId) === null) return { removed: false, reason: "unknown" };
  const run = requireRun(db, runId);
  if (run.isLeased && at <= run.leaseExpiresAt) return { removed: false, reason: "leased" };
  if (run.ledger.heldMicros > 0) return { removed: false, reason: "holds" };
  db.run(
    "UPDATE accounts SET settled_micros = settled_micros - ? WHERE account = ?",
    run.ledger.settledMicros,
    run.account,
  );
  for (const tag of tagTexts(run.tags)) db.run("DELETE FROM run_tags WHERE tag = ? AND run_key = ?", tag, run.key);
  for (const table of tablesOfRun) db.run(`DELETE FROM ${table} WHERE run_key = ?`, run.key);
  // The statement frees one page per row, so all rows must be read.
  db.all("PRAGMA incremental_vacuum");
  return { removed: true };
}
