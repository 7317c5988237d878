import { tagTexts } from "../../kit/tags.ts";
import type { Row } from "../columns.ts";
import { RunExistsError, RunUnknownError } from "../errors.ts";
import { decodeEvents, encodeEvents, SIGNED_BODY } from "../event-codec.ts";
import type { RunEvent, StoredEvent } from "../events.ts";
import { accountOf, mediaOf } from "../record.ts";
import { ledgerTotalsOf, runOf } from "../rows.ts";
import { type RunsQuery, searchText, searchWords } from "../search.ts";
import type { DueQuery, FoldSnapshot, LedgerTotals, RemoveOutcome, RunRow, Wake } from "../store.ts";
import type { Database } from "./database.ts";
import type { LeaseClock } from "./leases.ts";
import { newestVersion } from "./migrate.ts";
import { encodeWake, unlessEmpty, type WireCreate, type WriteQueue } from "./write-queue.ts";

export async function createRun(
  db: Database,
  writes: WriteQueue,
  runId: string,
  first: RunEvent & { readonly type: "run.planned" },
  { at, wake }: { readonly at: number; readonly wake?: Wake | undefined },
): Promise<void> {
  const wire: WireCreate = {
    run: runId,
    at,
    pipeline: first.plan.pipeline,
    account: accountOf(first),
    ...(first.title !== undefined && { title: first.title }),
    tags: JSON.stringify(first.tags ?? {}),
    text: searchText(runId, first),
    body: encodeEvents([first]),
    ...unlessEmpty("media", mediaOf(first)),
    ...(wake !== undefined && encodeWake(wake)),
  };
  const isCreated = await writes.add(wire, (row) => db.columns.text(row, "outcome") === "created");
  if (!isCreated) throw new RunExistsError(runId);
}

const now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const summary = (expiry: string) =>
  `SELECT run_id, pipeline, title, account, created_at, updated_at, last_seq, status, tags, resume_at, lease_holder, lease_expires_at - coalesce($1, ${expiry}) AS lease_expires_at, (SELECT at FROM {s}.wakes WHERE wakes.run_key = runs.run_key) AS wake_at FROM {s}.runs`;

export async function runRow(db: Database, clock: LeaseClock, runId: string): Promise<RunRow | null> {
  const [row] = await db.query(`${summary(now)} WHERE run_id = $2`, [clock.forDatabase(), runId]);
  return row === undefined ? null : summaryOf(db, clock, row);
}

export async function newestRuns(
  db: Database,
  clock: LeaseClock,
  { limit, before = Number.MAX_SAFE_INTEGER, tags, search = "" }: RunsQuery,
): Promise<readonly RunRow[]> {
  const texts = tagTexts(tags);
  const words = searchWords(search);
  const tagged = texts.map(
    (_, index) => `AND EXISTS (SELECT FROM {s}.run_tags t WHERE t.tag = $${index + 4} AND t.run_key = runs.run_key) `,
  );
  const found = words.map(
    (_, index) =>
      `AND EXISTS (SELECT FROM {s}.run_texts f WHERE f.run_key = runs.run_key AND position($${index + 4 + texts.length} IN f.text) > 0) `,
  );
  const rows = await db.query(
    `${summary(now)} WHERE created_at < $2 ${tagged.join("")}${found.join("")}ORDER BY created_at DESC, run_key DESC LIMIT $3`,
    [clock.forDatabase(), before, limit ?? null, ...texts, ...words],
  );
  return rows.map((row) => summaryOf(db, clock, row));
}

export async function dueRuns(db: Database, { account, at, limit }: DueQuery): Promise<readonly string[]> {
  const rows = await db.query(
    `SELECT run_id FROM (SELECT run_key, at FROM {s}.wakes WHERE account = $1 AND at <= $2 ORDER BY at, run_key LIMIT $3) due
      JOIN {s}.runs USING (run_key) ORDER BY due.at, run_key`,
    [account, at, limit],
  );
  return rows.map((row) => db.columns.text(row, "run_id"));
}

function summaryOf({ columns }: Database, clock: LeaseClock, row: Row): RunRow {
  const run = runOf(columns, row);
  if (run.lease === null) return run;
  return { ...run, lease: { ...run.lease, expiresAt: clock.expiryOf(run.lease.expiresAt) } };
}

const page = `SELECT r.run_key, e.seq, e.at, e.version, e.body FROM {s}.runs r LEFT JOIN LATERAL (
    SELECT seq, at, version, body FROM {s}.events WHERE run_key = r.run_key AND seq > $2 ORDER BY seq LIMIT $3) e ON true
  WHERE r.run_id = $1 ORDER BY e.seq`;

export async function readEvents(db: Database, runId: string, afterSeq: number, rows: number) {
  const found = await db.query(page, [runId, afterSeq, rows]);
  const [first] = found;
  if (first === undefined) throw new RunUnknownError(runId, db.place);
  const { columns } = db;
  const key = columns.integer(first, "run_key");
  const records = found
    .filter(({ seq }) => seq !== null)
    .map((row) => ({
      seq: columns.integer(row, "seq"),
      at: columns.integer(row, "at"),
      version: columns.integer(row, "version"),
      body: columns.text(row, "body"),
    }));
  const decode = (signature: (seq: number) => string | null): readonly StoredEvent[] =>
    decodeEvents(records, afterSeq, { path: db.place, runId, signature });
  // If an event's type is unknown, the error message also names the program that wrote the event.
  let unknownAt: number | null = null;
  const noteUnknown = (seq: number) => {
    unknownAt = seq;
    return null;
  };
  try {
    return { key, rows: records.length, events: decode(noteUnknown) };
  } catch (error) {
    if (unknownAt === null) throw error;
    const signature = await signatureBefore(db, key, unknownAt);
    decode(() => signature);
    throw error;
  }
}

async function signatureBefore(db: Database, key: number, seq: number): Promise<string | null> {
  const [row] = await db.query(
    "SELECT body FROM {s}.events WHERE run_key = $1 AND seq < $2 AND starts_with(body, $3) ORDER BY seq DESC LIMIT 1",
    [key, seq, SIGNED_BODY],
  );
  return row === undefined ? null : db.columns.text(row, "body");
}

export async function readSnapshot(db: Database, runId: string): Promise<FoldSnapshot | null> {
  const row = await ofRun(
    db,
    runId,
    "SELECT fold_version, seq, state FROM {s}.runs LEFT JOIN {s}.snapshots USING (run_key) WHERE run_id = $1",
  );
  if (row.seq === null) return null;
  try {
    return {
      foldVersion: db.columns.integer(row, "fold_version"),
      seq: db.columns.integer(row, "seq"),
      state: db.columns.text(row, "state"),
    };
  } catch {
    return null;
  }
}

export async function runLedger(db: Database, runId: string): Promise<LedgerTotals> {
  const row = await ofRun(db, runId, "SELECT held_micros, settled_micros FROM {s}.runs WHERE run_id = $1");
  return ledgerTotalsOf(db.columns, row);
}

/** Runs a statement about a run and returns its first row. If there is no row, throws `RunUnknownError`. */
async function ofRun(db: Database, runId: string, sql: string): Promise<Row> {
  const [row] = await db.query(sql, [runId]);
  if (row === undefined) throw new RunUnknownError(runId, db.place);
  return row;
}

export async function removeRun(db: Database, clock: LeaseClock, runId: string, at: number): Promise<RemoveOutcome> {
  let isRepeated = false;
  const [row] = await db.query("SELECT {s}.remove_run($1, $2, $3) AS outcome", (repeated) => {
    isRepeated = repeated;
    return [newestVersion, runId, clock.forDatabase(at)];
  });
  const outcome = db.columns.text(row!, "outcome");
  if (outcome === "removed" || (outcome === "unknown" && isRepeated)) return { removed: true };
  return { removed: false, reason: outcome as "leased" | "holds" | "unknown" };
}
