import type { DatabaseSync } from "node:sqlite";
import type { JobRow, JobStatus, NewJobRow } from "./rows.ts";
import { command, insertSql, query } from "./statement.ts";

const NEW_COLUMNS = [
  "jobId",
  "workspaceId",
  "ownerId",
  "keyId",
  "model",
  "kind",
  "quality",
  "status",
  "prompt",
  "input",
  "media",
  "webhook",
  "idempotencyKey",
  "seed",
  "queueMs",
  "renderMs",
  "createdAt",
  "chargedMicros",
  "costShownAt",
] as const satisfies readonly (keyof NewJobRow)[];

/** The owner whose jobs are meant: jobs belong to an owner within a workspace. */
export interface Owner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

export interface UsageRow {
  readonly key: string;
  readonly jobs: number;
  readonly spentMicros: number;
}

const USAGE_SUM = "count(*) AS jobs, sum(chargedMicros - refundedMicros) AS spentMicros";
const USAGE_WINDOW = "FROM jobs WHERE workspaceId = ? AND createdAt >= ? AND createdAt < ?";

export function jobTable(database: DatabaseSync) {
  const insert = command(database, insertSql("jobs", NEW_COLUMNS));
  const page = "AND seq < ? ORDER BY seq DESC LIMIT ?";
  const byOwner = query<JobRow>(database, `SELECT * FROM jobs WHERE workspaceId = ? AND ownerId = ? ${page}`);
  const byModel = query<JobRow>(
    database,
    `SELECT * FROM jobs WHERE workspaceId = ? AND ownerId = ? AND model = ? ${page}`,
  );
  const bySeq = query<JobRow>(database, "SELECT * FROM jobs WHERE seq = ?");
  const byId = query<JobRow>(database, "SELECT * FROM jobs WHERE jobId = ?");
  const unsettled = query<{ seq: number }>(database, "SELECT seq FROM jobs WHERE completedAt IS NULL ORDER BY seq");
  const toExpire = query<JobRow>(database, "SELECT * FROM jobs WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?");
  const nextExpiry = query<{ at: number | null }>(
    database,
    "SELECT min(expiresAt) AS at FROM jobs WHERE expiresAt IS NOT NULL",
  );
  const readers = query<{ count: number }>(
    database,
    "SELECT count(*) AS count FROM reads JOIN jobs ON seq = readerSeq WHERE sourceSeq = ? AND completedAt IS NULL",
  );
  const usage = {
    total: query<UsageRow>(database, `SELECT 'total' AS key, ${USAGE_SUM} ${USAGE_WINDOW} HAVING count(*) > 0`),
    day: query<UsageRow>(
      database,
      `SELECT date(createdAt / 1000, 'unixepoch') AS key, ${USAGE_SUM} ${USAGE_WINDOW} GROUP BY key ORDER BY key`,
    ),
    model: query<UsageRow>(database, `SELECT model AS key, ${USAGE_SUM} ${USAGE_WINDOW} GROUP BY key ORDER BY key`),
  };
  const setStarted = command(database, "UPDATE jobs SET status = 'IN_PROGRESS', startedAt = ? WHERE seq = ?");
  const setSettled = command(
    database,
    "UPDATE jobs SET status = ?, completedAt = ?, expiresAt = ?, refundedMicros = ?, error = ? WHERE seq = ?",
  );
  // The expiry stays: it removes what a delete that nobody repeats has left.
  const setDeleted = command(
    database,
    "UPDATE jobs SET deletedAt = ?, prompt = NULL, input = '{}', media = '{}' WHERE seq = ?",
  );
  const setExpiry = command(database, "UPDATE jobs SET expiresAt = ? WHERE seq = ?");
  const setLastEvent = command(database, "UPDATE jobs SET lastEventId = ? WHERE seq = ?");
  const insertRead = command(database, "INSERT OR IGNORE INTO reads (sourceSeq, readerSeq) VALUES (?, ?)");

  return {
    insert: (row: NewJobRow): number => insert(...NEW_COLUMNS.map((column) => row[column])).lastId,
    bySeq: (seq: number) => bySeq.get(seq),
    byId: (jobId: string) => byId.get(jobId),
    /** Newest first, below `before`. */
    page: (owner: Owner, before: number, limit: number) => byOwner.all(owner.workspaceId, owner.ownerId, before, limit),
    pageOfModel: (owner: Owner, model: string, before: number, limit: number) =>
      byModel.all(owner.workspaceId, owner.ownerId, model, before, limit),
    /** Jobs accepted and not finished, oldest first. */
    unsettled: () => unsettled.all().map((row) => row.seq),
    toExpire: (now: number, limit: number) => toExpire.all(now, limit),
    nextExpiry: () => nextExpiry.get()?.at ?? null,
    /** Unfinished jobs that read an output of this one. */
    runningReaders: (seq: number) => readers.get(seq)?.count ?? 0,
    usage: (group: keyof typeof usage, workspaceId: string, from: number, to: number) =>
      usage[group].all(workspaceId, from, to),
    start: (seq: number, at: number) => setStarted(at, seq),
    settle: (
      seq: number,
      end: {
        readonly status: JobStatus;
        readonly completedAt: number;
        readonly expiresAt: number | null;
        readonly refundedMicros: number;
        readonly error: string | null;
      },
    ) => setSettled(end.status, end.completedAt, end.expiresAt, end.refundedMicros, end.error, seq),
    markDeleted: (seq: number, at: number) => setDeleted(at, seq),
    setExpiry: (seq: number, at: number | null) => setExpiry(at, seq),
    setLastEvent: (seq: number, id: number) => setLastEvent(id, seq),
    addRead: (sourceSeq: number, readerSeq: number) => insertRead(sourceSeq, readerSeq),
  };
}
