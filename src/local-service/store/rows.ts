import { randomBytes, randomUUID } from "node:crypto";
import type { AnnouncedMedia, RenderKind } from "../render/contract.ts";

// Rows of the tables in `SCHEMA`, which states the units.

export type JobStatus = "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED";
type OutputStatus = "COMPLETED" | "FAILED" | "EXPIRED";
export type JobKind = RenderKind | "chat";

export interface JobRow {
  readonly seq: number;
  readonly jobId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly keyId: string;
  readonly model: string;
  readonly kind: JobKind;
  readonly quality: string | null;
  readonly status: JobStatus;
  readonly prompt: string | null;
  readonly input: string;
  /** The files in each media field at the time the job was submitted, as JSON. */
  readonly media: string;
  readonly webhook: string | null;
  readonly idempotencyKey: string | null;
  readonly seed: number;
  /** Simulated time that the job waits before it can start. */
  readonly queueMs: number;
  /** Simulated duration of the work. */
  readonly renderMs: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly expiresAt: number | null;
  readonly deletedAt: number | null;
  readonly chargedMicros: number;
  readonly refundedMicros: number;
  readonly costShownAt: number;
  readonly error: string | null;
  readonly lastEventId: number;
}

export type NewJobRow = Omit<
  JobRow,
  "seq" | "startedAt" | "completedAt" | "expiresAt" | "deletedAt" | "refundedMicros" | "error" | "lastEventId"
>;

export interface OutputRow {
  readonly jobSeq: number;
  readonly position: number;
  readonly status: OutputStatus;
  readonly assetId: string | null;
  readonly voiceId: string | null;
  /** Path relative to the data folder. */
  readonly path: string | null;
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
  readonly sizeBytes: number | null;
  /** When the frame rate becomes visible, in epoch milliseconds. Null if it is visible from the start. */
  readonly fpsShownAt: number | null;
  readonly error: string | null;
}

export type LogLevel = "info" | "warning" | "error";
type LogSource = "api" | "worker" | "provider" | "cron";
type LogName =
  | "queued"
  | "started"
  | "moderation.passed"
  | "provider.submitted"
  | "provider.error"
  | "progress"
  | "finalizing"
  | "download.ready"
  | "completed"
  | "failed"
  | "recovered";

export interface NewEvent {
  readonly level: LogLevel;
  readonly event: LogName;
  readonly message: string;
  readonly source: LogSource;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventRow extends Omit<NewEvent, "data"> {
  readonly jobSeq: number;
  readonly id: number;
  readonly at: number;
  readonly data: string;
}

export interface ChatRow {
  readonly jobSeq: number;
  readonly requestId: string;
  readonly streamed: number;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly firstTokenMs: number | null;
}

export interface WorkspaceRow {
  readonly workspaceId: string;
  readonly fundedMicros: number;
  readonly chargedMicros: number;
  readonly refundedMicros: number;
  readonly cardDeclined: number;
}

export interface KeyRow {
  readonly seq: number;
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly kind: "personal" | "service";
  readonly name: string | null;
  readonly secretHash: Uint8Array;
  readonly previousHash: Uint8Array | null;
  readonly previousUntil: number | null;
  /** Scopes as a JSON array, or null for every scope. */
  readonly scopes: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

export type NewKeyRow = Omit<KeyRow, "seq" | "previousHash" | "previousUntil" | "revokedAt" | "lastUsedAt">;

export interface TokenRow {
  readonly tokenHash: Uint8Array;
  readonly keyId: string;
  readonly scopes: string | null;
  readonly expiresAt: number;
}

export interface FileRow extends AnnouncedMedia {
  readonly fileId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly url: string;
  readonly path: string;
  /** Why the file cannot be decoded, or null if it can. */
  readonly fault: string | null;
  readonly sizeBytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface VoiceRow {
  readonly voiceId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly jobSeq: number;
  readonly name: string;
  readonly profile: string;
  readonly createdAt: number;
}

export interface TransactionRow {
  /** Position in the workspace's list of transactions, starting at 1. */
  readonly seq: number;
  readonly id: string;
  readonly kind: "purchase" | "grant" | "usage" | "refund";
  /** Amount in micro-dollars. Negative for a charge. */
  readonly micros: number;
  readonly at: number;
}

export interface IdempotencyRow {
  readonly workspaceId: string;
  readonly key: string;
  readonly model: string;
  readonly jobSeq: number;
  readonly ack: string;
}

/**
 * Version of the database schema. Increment this with every change that makes the database unreadable for older code.
 */
export const SCHEMA_VERSION = 1;

/**
 * The database schema. Times are epoch milliseconds, money is whole micro-dollars, and structured columns are JSON
 * text.
 */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS workspaces (
  workspaceId TEXT PRIMARY KEY,
  fundedMicros INTEGER NOT NULL DEFAULT 0,
  chargedMicros INTEGER NOT NULL DEFAULT 0,
  refundedMicros INTEGER NOT NULL DEFAULT 0,
  cardDeclined INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS members (
  workspaceId TEXT NOT NULL, ownerId TEXT NOT NULL, leftAt INTEGER,
  PRIMARY KEY (workspaceId, ownerId)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS keys (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  keyId TEXT NOT NULL UNIQUE, workspaceId TEXT NOT NULL, ownerId TEXT NOT NULL, kind TEXT NOT NULL, name TEXT,
  secretHash BLOB NOT NULL, previousHash BLOB, previousUntil INTEGER, scopes TEXT,
  createdAt INTEGER NOT NULL, expiresAt INTEGER, revokedAt INTEGER, lastUsedAt INTEGER
);
CREATE INDEX IF NOT EXISTS keysByOwner ON keys (workspaceId, ownerId, seq);

CREATE TABLE IF NOT EXISTS tokens (
  tokenHash BLOB PRIMARY KEY, keyId TEXT NOT NULL, scopes TEXT, expiresAt INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  jobId TEXT NOT NULL UNIQUE, workspaceId TEXT NOT NULL, ownerId TEXT NOT NULL, keyId TEXT NOT NULL,
  model TEXT NOT NULL, kind TEXT NOT NULL, quality TEXT, status TEXT NOT NULL, prompt TEXT, input TEXT NOT NULL, media TEXT NOT NULL,
  webhook TEXT, idempotencyKey TEXT, seed INTEGER NOT NULL, queueMs INTEGER NOT NULL, renderMs INTEGER NOT NULL,
  createdAt INTEGER NOT NULL, startedAt INTEGER, completedAt INTEGER, expiresAt INTEGER, deletedAt INTEGER,
  chargedMicros INTEGER NOT NULL, refundedMicros INTEGER NOT NULL DEFAULT 0, costShownAt INTEGER NOT NULL,
  error TEXT, lastEventId INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS jobsByOwner ON jobs (workspaceId, ownerId, seq);
CREATE INDEX IF NOT EXISTS jobsByModel ON jobs (workspaceId, ownerId, model, seq);
CREATE INDEX IF NOT EXISTS jobsByAge ON jobs (workspaceId, createdAt);
CREATE INDEX IF NOT EXISTS jobsUnfinished ON jobs (seq) WHERE completedAt IS NULL;
CREATE INDEX IF NOT EXISTS jobsToExpire ON jobs (expiresAt) WHERE expiresAt IS NOT NULL;

CREATE TABLE IF NOT EXISTS outputs (
  jobSeq INTEGER NOT NULL, position INTEGER NOT NULL, status TEXT NOT NULL, assetId TEXT UNIQUE, voiceId TEXT,
  path TEXT, contentType TEXT, width INTEGER, height INTEGER, durationMs INTEGER, fps INTEGER, sizeBytes INTEGER,
  fpsShownAt INTEGER, error TEXT,
  PRIMARY KEY (jobSeq, position)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS reads (
  sourceSeq INTEGER NOT NULL, readerSeq INTEGER NOT NULL, PRIMARY KEY (sourceSeq, readerSeq)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS jobEvents (
  jobSeq INTEGER NOT NULL, id INTEGER NOT NULL, at INTEGER NOT NULL, level TEXT NOT NULL, event TEXT NOT NULL,
  message TEXT NOT NULL, source TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (jobSeq, id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS chats (
  jobSeq INTEGER PRIMARY KEY, requestId TEXT NOT NULL, streamed INTEGER NOT NULL, promptTokens INTEGER,
  completionTokens INTEGER, reasoningTokens INTEGER, firstTokenMs INTEGER
);

CREATE TABLE IF NOT EXISTS idempotency (
  workspaceId TEXT NOT NULL, key TEXT NOT NULL, model TEXT NOT NULL, jobSeq INTEGER NOT NULL, ack TEXT NOT NULL,
  PRIMARY KEY (workspaceId, key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS files (
  fileId TEXT PRIMARY KEY, workspaceId TEXT NOT NULL, ownerId TEXT NOT NULL, url TEXT NOT NULL, path TEXT NOT NULL,
  kind TEXT NOT NULL, contentType TEXT NOT NULL, width INTEGER, height INTEGER, durationMs INTEGER,
  fault TEXT, sizeBytes INTEGER NOT NULL, createdAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS filesToExpire ON files (expiresAt);

CREATE TABLE IF NOT EXISTS funds (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  workspaceId TEXT NOT NULL, kind TEXT NOT NULL, micros INTEGER NOT NULL, at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS voices (
  voiceId TEXT PRIMARY KEY, workspaceId TEXT NOT NULL, ownerId TEXT NOT NULL, jobSeq INTEGER NOT NULL,
  name TEXT NOT NULL, profile TEXT NOT NULL, createdAt INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS modelRuns (
  model TEXT PRIMARY KEY, runs INTEGER NOT NULL, averageMs REAL NOT NULL
) WITHOUT ROWID;
`;

export const jobId = () => `job_${randomUUID()}`;
export const voiceId = () => `voice_${randomUUID()}`;
export const fileId = () => `file_${randomUUID()}`;
export const keyId = () => `key_${randomBytes(9).toString("hex")}`;
export const secret = () => randomBytes(24).toString("base64url");

export const traceId = () => randomUUID().replaceAll("-", "");
export const requestId = () => `req_${traceId()}`;
