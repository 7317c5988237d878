import type { JobRow, JobStatus, NewJobRow } from "./rows.ts";
import type { Statements } from "./statement.ts";

/** The owner to filter by: jobs belong to an owner within a workspace. */
export interface Owner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

export interface UsageRow {
  readonly key: string;
  readonly jobs: number;
  readonly spentMicros: number;
}

/** The outcome of a job. */
export interface JobEnd {
  readonly status: JobStatus;
  readonly completedAt: number;
  readonly expiresAt: number | null;
  readonly refundedMicros: number;
  readonly error: string | null;
}

const PAGE = "AND seq < ? ORDER BY seq DESC LIMIT ?";
const OF_OWNER = `SELECT * FROM jobs WHERE workspaceId = ? AND ownerId = ? ${PAGE}`;
const OF_MODEL = `SELECT * FROM jobs WHERE workspaceId = ? AND ownerId = ? AND model = ? ${PAGE}`;
const NEXT_EXPIRY = "SELECT min(expiresAt) AS at FROM jobs WHERE expiresAt IS NOT NULL";
const RUNNING_READERS =
  "SELECT count(*) AS count FROM reads JOIN jobs ON seq = readerSeq WHERE sourceSeq = ? AND completedAt IS NULL";

/** What usage is summed by: the column of the key, and what follows the sum. */
const USAGE = {
  total: ["'total'", "HAVING count(*) > 0"],
  day: ["date(createdAt / 1000, 'unixepoch')", "GROUP BY key ORDER BY key"],
  model: ["model", "GROUP BY key ORDER BY key"],
} as const;

function usageSql(group: keyof typeof USAGE): string {
  const [key, ending] = USAGE[group];
  const sums = "count(*) AS jobs, sum(chargedMicros - refundedMicros) AS spentMicros";
  return `SELECT ${key} AS key, ${sums} FROM jobs WHERE workspaceId = ? AND createdAt >= ? AND createdAt < ? ${ending}`;
}

export function jobTable(db: Statements) {
  return {
    insert: (row: NewJobRow): number => db.insert("jobs", row),
    bySeq: (seq: number) => db.get<JobRow>("SELECT * FROM jobs WHERE seq = ?", seq),
    byId: (jobId: string) => db.get<JobRow>("SELECT * FROM jobs WHERE jobId = ?", jobId),
    /** Newest first, before the cursor `before`. */
    page: ({ workspaceId, ownerId }: Owner, before: number, limit: number) =>
      db.all<JobRow>(OF_OWNER, workspaceId, ownerId, before, limit),
    pageOfModel: ({ workspaceId, ownerId }: Owner, model: string, before: number, limit: number) =>
      db.all<JobRow>(OF_MODEL, workspaceId, ownerId, model, before, limit),
    /** Jobs accepted and not finished, oldest first. */
    unsettled: () =>
      db.all<JobRow>("SELECT seq FROM jobs WHERE completedAt IS NULL ORDER BY seq").map(({ seq }) => seq),
    toExpire: (now: number, limit: number) =>
      db.all<JobRow>("SELECT * FROM jobs WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?", now, limit),
    nextExpiry: () => db.get<{ at: number | null }>(NEXT_EXPIRY)?.at ?? null,
    /** Unfinished jobs that read an output of this one. */
    runningReaders: (seq: number) => db.get<{ count: number }>(RUNNING_READERS, seq)?.count ?? 0,
    usage: (group: keyof typeof USAGE, workspaceId: string, from: number, to: number) =>
      db.all<UsageRow>(usageSql(group), workspaceId, from, to),
    start: (seq: number, startedAt: number) => db.update("jobs", { seq, status: "IN_PROGRESS", startedAt }),
    settle: (seq: number, { status, completedAt, expiresAt, refundedMicros, error }: JobEnd) =>
      db.update("jobs", { seq, status, completedAt, expiresAt, refundedMicros, error }),
    /** Keeps the expiry, whose sweep removes what an unrepeated delete has left. */
    markDeleted: (seq: number, deletedAt: number) =>
      db.update("jobs", { seq, deletedAt, prompt: null, input: "{}", media: "{}" }),
    setExpiry: (seq: number, expiresAt: number | null) => db.update("jobs", { seq, expiresAt }),
    setLastEvent: (seq: number, lastEventId: number) => db.update("jobs", { seq, lastEventId }),
    addRead: (sourceSeq: number, readerSeq: number) => db.insert("reads", { sourceSeq, readerSeq }, "INSERT OR IGNORE"),
  };
}
