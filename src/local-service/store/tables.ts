import type { Statements } from "./database.ts";
import type {
  ChatRow,
  EventRow,
  FileRow,
  IdempotencyRow,
  JobRow,
  KeyRow,
  NewEvent,
  NewJobRow,
  NewKeyRow,
  OutputRow,
  TokenRow,
  TransactionRow,
  VoiceRow,
  WorkspaceRow,
} from "./rows.ts";

export interface Owner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

export interface UsageRow {
  readonly key: string;
  readonly jobs: number;
  readonly spentMicros: number;
  readonly requests: number;
}

export interface ChatsInFlight {
  readonly ofWorkspace: number;
  readonly ofKey: number;
  readonly heldMicros: number;
}

type JobEnd = Pick<JobRow, "status" | "completedAt" | "expiresAt" | "refundedMicros" | "error">;

const PAGE = "AND seq < ? ORDER BY seq DESC LIMIT ?";
const OF_OWNER = `SELECT * FROM jobs WHERE workspaceId = ? AND ownerId = ? ${PAGE}`;
const OF_MODEL = `SELECT * FROM jobs WHERE workspaceId = ? AND ownerId = ? AND model = ? ${PAGE}`;
const CHATS_IN_FLIGHT = `SELECT count(*) AS ofWorkspace, count(*) FILTER (WHERE keyId = ?) AS ofKey,
  total(chargedMicros) AS heldMicros FROM jobs WHERE completedAt IS NULL AND kind = 'chat' AND workspaceId = ?`;
const RUNNING_READERS =
  "SELECT count(*) AS count FROM reads JOIN jobs ON seq = readerSeq WHERE sourceSeq = ? AND completedAt IS NULL";

/** For each grouping of the usage, the SQL expression for the key and the clause that ends the query. */
const USAGE = {
  total: ["'total'", "HAVING count(*) > 0"],
  day: ["date(createdAt / 1000, 'unixepoch')", "GROUP BY key ORDER BY key"],
  model: ["model", "GROUP BY key ORDER BY key"],
} as const;

function usageSql(group: keyof typeof USAGE): string {
  const [key, ending] = USAGE[group];
  const sums = "count(*) AS jobs, sum(chargedMicros - refundedMicros) AS spentMicros, sum(kind = 'chat') AS requests";
  return `SELECT ${key} AS key, ${sums} FROM jobs WHERE workspaceId = ? AND createdAt >= ? AND createdAt < ? ${ending}`;
}

export function jobTable(db: Statements) {
  return {
    insert: (row: NewJobRow): number => db.insert("jobs", row),
    bySeq: (seq: number) => db.get<JobRow>("SELECT * FROM jobs WHERE seq = ?", seq),
    byId: (jobId: string) => db.get<JobRow>("SELECT * FROM jobs WHERE jobId = ?", jobId),
    page: ({ workspaceId, ownerId }: Owner, before: number, limit: number) =>
      db.all<JobRow>(OF_OWNER, workspaceId, ownerId, before, limit),
    pageOfModel: ({ workspaceId, ownerId }: Owner, model: string, before: number, limit: number) =>
      db.all<JobRow>(OF_MODEL, workspaceId, ownerId, model, before, limit),
    unfinished: () =>
      db.all<JobRow>("SELECT seq FROM jobs WHERE completedAt IS NULL ORDER BY seq").map(({ seq }) => seq),
    toExpire: (now: number, limit: number) =>
      db.all<JobRow>("SELECT * FROM jobs WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?", now, limit),
    runningReaders: (seq: number) => db.get<{ count: number }>(RUNNING_READERS, seq)?.count ?? 0,
    usage: (group: keyof typeof USAGE, workspaceId: string, from: number, to: number) =>
      db.all<UsageRow>(usageSql(group), workspaceId, from, to),
    start: (seq: number, startedAt: number) => db.update("jobs", { seq, status: "IN_PROGRESS", startedAt }),
    end: (seq: number, end: JobEnd) => db.update("jobs", { seq, ...end }),
    /** Marks a job as deleted, and clears its input. Keeps its expiry, so that leftover files are still removed. */
    markDeleted: (seq: number, deletedAt: number) =>
      db.update("jobs", { seq, deletedAt, prompt: null, input: "{}", media: "{}" }),
    chatsInFlight: (workspaceId: string, keyId: string) => db.get<ChatsInFlight>(CHATS_IN_FLIGHT, keyId, workspaceId)!,
    settle: (seq: number, chargedMicros: number) => db.update("jobs", { seq, chargedMicros }),
    setExpiry: (seq: number, expiresAt: number | null) => db.update("jobs", { seq, expiresAt }),
    setLastEvent: (seq: number, lastEventId: number) => db.update("jobs", { seq, lastEventId }),
    addRead: (sourceSeq: number, readerSeq: number) => db.insert("reads", { sourceSeq, readerSeq }, "INSERT OR IGNORE"),
  };
}

export interface ChatFilter {
  readonly start: number | null;
  readonly end: number | null;
  readonly model: string | null;
  readonly keyId: string | null;
}

const CHATS = `SELECT * FROM jobs JOIN chats ON jobSeq = seq WHERE workspaceId = ?1 AND (?2 IS NULL OR createdAt >= ?2)
  AND (?3 IS NULL OR createdAt < ?3) AND (?4 IS NULL OR model = ?4) AND (?5 IS NULL OR keyId = ?5)
  AND seq < ?6 ORDER BY seq DESC LIMIT ?7`;

export function chatTable(db: Statements) {
  return {
    put: (row: ChatRow) => db.insert("chats", row, "INSERT OR REPLACE"),
    page: (workspaceId: string, { start, end, model, keyId }: ChatFilter, before: number, limit: number) =>
      db.all<JobRow & ChatRow>(CHATS, workspaceId, start, end, model, keyId, before, limit),
    ofJob: (jobSeq: number) => db.get<ChatRow>("SELECT * FROM chats WHERE jobSeq = ?", jobSeq),
  };
}

export function idempotencyTable(db: Statements) {
  return {
    get: (workspaceId: string, key: string) =>
      db.get<IdempotencyRow>("SELECT * FROM idempotency WHERE workspaceId = ? AND key = ?", workspaceId, key),
    insert: (row: IdempotencyRow) => db.insert("idempotency", row, "INSERT OR REPLACE"),
  };
}

export function eventTable(db: Statements) {
  return {
    append(jobSeq: number, lastId: number, at: number, events: readonly NewEvent[]): EventRow[] {
      return events.map((event, index) => {
        const row: EventRow = { ...event, jobSeq, id: lastId + index + 1, at, data: JSON.stringify(event.data) };
        db.insert("jobEvents", row);
        return row;
      });
    },
    after: (jobSeq: number, id: number, limit: number) =>
      db.all<EventRow>("SELECT * FROM jobEvents WHERE jobSeq = ? AND id > ? ORDER BY id LIMIT ?", jobSeq, id, limit),
    latest: (jobSeq: number, limit: number) =>
      db.all<EventRow>("SELECT * FROM jobEvents WHERE jobSeq = ? ORDER BY id DESC LIMIT ?", jobSeq, limit).reverse(),
    clear: (jobSeq: number) => db.run("DELETE FROM jobEvents WHERE jobSeq = ?", jobSeq),
  };
}

const ADD_MODEL_RUN = `INSERT INTO modelRuns (model, runs, averageMs) VALUES (?, 1, ?)
  ON CONFLICT (model) DO UPDATE SET averageMs = averageMs + (excluded.averageMs - averageMs) / min(runs + 1, 20),
    runs = runs + 1`;

export function modelRunTable(db: Statements) {
  return {
    averageMs: (model: string) =>
      db.get<{ averageMs: number }>("SELECT averageMs FROM modelRuns WHERE model = ?", model)?.averageMs ?? null,
    add: (model: string, tookMs: number) => db.run(ADD_MODEL_RUN, model, tookMs),
  };
}

export function metaTable(db: Statements) {
  return {
    get: (name: string) => db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value ?? null,
    set: (name: string, value: string) => db.insert("meta", { name, value }, "INSERT OR REPLACE"),
  };
}

export function countJobs(db: Statements) {
  const tally = (column: string) => {
    const rows = db.all<{ name: string; count: number }>(
      `SELECT ${column} AS name, count(*) AS count FROM jobs WHERE ${column} IS NOT NULL GROUP BY ${column}`,
    );
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  };
  const total = db.get<{ count: number }>("SELECT count(*) AS count FROM jobs")?.count ?? 0;
  return { total, byKey: tally("idempotencyKey"), byModel: tally("model") };
}

/** Query for a workspace's transactions, newest first. At equal times: refunds, then usage, then funds. */
const TRANSACTIONS = `WITH moves AS (
    SELECT 'txn_f' || seq AS id, kind, micros, at, 0 AS rank, seq AS number FROM funds WHERE workspaceId = ?
    UNION ALL SELECT 'txn_u' || seq, 'usage', -chargedMicros, createdAt, 1, seq FROM jobs
      WHERE workspaceId = ? AND chargedMicros > 0
    UNION ALL SELECT 'txn_r' || seq, 'refund', refundedMicros, completedAt, 2, seq FROM jobs
      WHERE workspaceId = ? AND refundedMicros > 0)
  SELECT * FROM (SELECT id, kind, micros, at, row_number() OVER (ORDER BY at, rank, number) AS seq FROM moves)
    WHERE seq < ? ORDER BY seq DESC LIMIT ?`;

type Amount = "fundedMicros" | "chargedMicros" | "refundedMicros";

export function workspaceTable(db: Statements) {
  const add = (amount: Amount, workspaceId: string, micros: number) =>
    db.run(`UPDATE workspaces SET ${amount} = ${amount} + ? WHERE workspaceId = ?`, micros, workspaceId);
  return {
    get: (workspaceId: string) => db.get<WorkspaceRow>("SELECT * FROM workspaces WHERE workspaceId = ?", workspaceId),
    all: () => db.all<WorkspaceRow>("SELECT * FROM workspaces ORDER BY workspaceId"),
    create: (workspaceId: string) =>
      db.run("INSERT OR IGNORE INTO workspaces (workspaceId) VALUES (?)", workspaceId) === 1,
    fund(workspaceId: string, micros: number, kind: "purchase" | "grant", at: number): void {
      if (micros === 0) return;
      add("fundedMicros", workspaceId, micros);
      db.insert("funds", { workspaceId, kind, micros, at });
    },
    transactions: (workspaceId: string, before: number, limit: number) =>
      db.all<TransactionRow>(TRANSACTIONS, workspaceId, workspaceId, workspaceId, before, limit),
    charge: (workspaceId: string, micros: number) => add("chargedMicros", workspaceId, micros),
    refund: (workspaceId: string, micros: number) => add("refundedMicros", workspaceId, micros),
    setCardDeclined: (workspaceId: string, declined: boolean) =>
      db.run("UPDATE workspaces SET cardDeclined = ? WHERE workspaceId = ?", declined ? 1 : 0, workspaceId),
    join: (workspaceId: string, ownerId: string) =>
      db.run("INSERT OR IGNORE INTO members (workspaceId, ownerId) VALUES (?, ?)", workspaceId, ownerId),
    setLeft: (workspaceId: string, ownerId: string, at: number | null) =>
      db.run("UPDATE members SET leftAt = ? WHERE workspaceId = ? AND ownerId = ?", at, workspaceId, ownerId) === 1,
    isMember(workspaceId: string, ownerId: string): boolean {
      const sql = "SELECT leftAt FROM members WHERE workspaceId = ? AND ownerId = ?";
      return db.get<{ leftAt: number | null }>(sql, workspaceId, ownerId)?.leftAt === null;
    },
  };
}

export function keyTable(db: Statements) {
  const page = "SELECT * FROM keys WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
  return {
    insert: (row: NewKeyRow) => db.insert("keys", row),
    get: (keyId: string) => db.get<KeyRow>("SELECT * FROM keys WHERE keyId = ?", keyId),
    page: (workspaceId: string, before: number, limit: number) => db.all<KeyRow>(page, workspaceId, before, limit),
    rotate(keyId: string, secretHash: Uint8Array, previousUntil: number): void {
      const rotate = "UPDATE keys SET previousHash = secretHash, previousUntil = ?, secretHash = ? WHERE keyId = ?";
      db.run(rotate, previousUntil, secretHash, keyId);
      db.run("UPDATE tokens SET expiresAt = min(expiresAt, ?) WHERE keyId = ?", previousUntil, keyId);
    },
    replaceSecret: (keyId: string, secretHash: Uint8Array) =>
      db.run("UPDATE keys SET secretHash = ? WHERE keyId = ?", secretHash, keyId),
    revoke: (keyId: string, at: number) =>
      db.run("UPDATE keys SET revokedAt = coalesce(revokedAt, ?) WHERE keyId = ?", at, keyId),
    touch: (keyId: string, at: number) => db.run("UPDATE keys SET lastUsedAt = ? WHERE keyId = ?", at, keyId),
    addToken: (row: TokenRow) => db.insert("tokens", row),
    token: (tokenHash: Uint8Array) => db.get<TokenRow>("SELECT * FROM tokens WHERE tokenHash = ?", tokenHash),
    dropTokens: (expiredBy: number) => db.run("DELETE FROM tokens WHERE expiresAt <= ?", expiredBy),
  };
}

export function fileTable(db: Statements) {
  return {
    insert: (row: FileRow) => db.insert("files", row),
    get: (fileId: string) => db.get<FileRow>("SELECT * FROM files WHERE fileId = ?", fileId),
    expiredBy: (instant: number, limit: number) =>
      db.all<FileRow>("SELECT * FROM files WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?", instant, limit),
    remove: (fileId: string) => db.run("DELETE FROM files WHERE fileId = ?", fileId),
  };
}

export function voiceTable(db: Statements) {
  const ofOwner = "SELECT * FROM voices WHERE workspaceId = ? AND ownerId = ? ORDER BY createdAt, voiceId";
  return {
    insert: (row: VoiceRow) => db.insert("voices", row),
    get: (voiceId: string) => db.get<VoiceRow>("SELECT * FROM voices WHERE voiceId = ?", voiceId),
    ofOwner: (workspaceId: string, ownerId: string) => db.all<VoiceRow>(ofOwner, workspaceId, ownerId),
  };
}

export function pathOf({ status, path }: OutputRow): string | null {
  return status === "COMPLETED" ? path : null;
}

export function outputTable(db: Statements) {
  const expireMade =
    "UPDATE outputs SET status = 'EXPIRED', path = NULL WHERE jobSeq = ? AND status = 'COMPLETED' AND voiceId IS NULL";
  return {
    insert: (row: OutputRow) => db.insert("outputs", row),
    ofJob: (jobSeq: number) => db.all<OutputRow>("SELECT * FROM outputs WHERE jobSeq = ? ORDER BY position", jobSeq),
    byAsset: (assetId: string) => db.get<OutputRow>("SELECT * FROM outputs WHERE assetId = ?", assetId),
    /**
     * Marks a job's outputs as expired. Keeps their paths until `forgetPaths`, so that an interrupted deletion can be
     * repeated.
     */
    expireAll: (jobSeq: number) =>
      db.run("UPDATE outputs SET status = 'EXPIRED', error = NULL WHERE jobSeq = ?", jobSeq),
    forgetPaths: (jobSeq: number) => db.run("UPDATE outputs SET path = NULL WHERE jobSeq = ?", jobSeq),
    expireMade: (jobSeq: number) => db.run(expireMade, jobSeq),
  };
}
