import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalServiceError } from "../errors.ts";
import { countJobs, eventTable, idempotencyTable, metaTable, modelRunTable } from "./bookkeeping.ts";
import { jobTable } from "./jobs.ts";
import type { FileRow, KeyRow, OutputRow, TokenRow, VoiceRow, WorkspaceRow } from "./rows.ts";
import { SCHEMA, SCHEMA_VERSION, UPGRADES } from "./schema.ts";
import { Statements } from "./statement.ts";
import { Writer } from "./writer.ts";

type Amount = "fundedMicros" | "chargedMicros" | "refundedMicros";

/** Workspaces with their wallets, and who belongs to them. */
export function workspaceTable(db: Statements) {
  const add = (amount: Amount, workspaceId: string, micros: number) =>
    db.run(`UPDATE workspaces SET ${amount} = ${amount} + ? WHERE workspaceId = ?`, micros, workspaceId);
  return {
    get: (workspaceId: string) => db.get<WorkspaceRow>("SELECT * FROM workspaces WHERE workspaceId = ?", workspaceId),
    all: () => db.all<WorkspaceRow>("SELECT * FROM workspaces ORDER BY workspaceId"),
    create: (workspaceId: string) =>
      db.run("INSERT OR IGNORE INTO workspaces (workspaceId) VALUES (?)", workspaceId) === 1,
    fund: (workspaceId: string, micros: number) => add("fundedMicros", workspaceId, micros),
    charge: (workspaceId: string, micros: number) => add("chargedMicros", workspaceId, micros),
    refund: (workspaceId: string, micros: number) => add("refundedMicros", workspaceId, micros),
    setCardDeclined: (workspaceId: string, declined: boolean) =>
      db.run("UPDATE workspaces SET cardDeclined = ? WHERE workspaceId = ?", declined ? 1 : 0, workspaceId),
    join: (workspaceId: string, ownerId: string) =>
      db.run("INSERT OR IGNORE INTO members (workspaceId, ownerId) VALUES (?, ?)", workspaceId, ownerId),
    /** Null undoes a departure. */
    setLeft: (workspaceId: string, ownerId: string, at: number | null) =>
      db.run("UPDATE members SET leftAt = ? WHERE workspaceId = ? AND ownerId = ?", at, workspaceId, ownerId) === 1,
    isMember(workspaceId: string, ownerId: string): boolean {
      const sql = "SELECT leftAt FROM members WHERE workspaceId = ? AND ownerId = ?";
      return db.get<{ leftAt: number | null }>(sql, workspaceId, ownerId)?.leftAt === null;
    },
  };
}

/** Keys and the tokens minted from them. Only hashes of secrets are kept. */
export function keyTable(db: Statements) {
  const page = "SELECT * FROM keys WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
  return {
    insert: (row: Omit<KeyRow, "seq">) => db.insert("keys", row),
    get: (keyId: string) => db.get<KeyRow>("SELECT * FROM keys WHERE keyId = ?", keyId),
    page: (workspaceId: string, before: number, limit: number) => db.all<KeyRow>(page, workspaceId, before, limit),
    /** Tokens minted with the old secret expire with it. */
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

/** Uploaded files, until some time after their handles expire. */
function fileTable(db: Statements) {
  return {
    insert: (row: FileRow) => db.insert("files", row),
    get: (fileId: string) => db.get<FileRow>("SELECT * FROM files WHERE fileId = ?", fileId),
    expiredBy: (instant: number, limit: number) =>
      db.all<FileRow>("SELECT * FROM files WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?", instant, limit),
    remove: (fileId: string) => db.run("DELETE FROM files WHERE fileId = ?", fileId),
  };
}

/** Voices cloned by jobs. They do not expire. */
function voiceTable(db: Statements) {
  const ofOwner = "SELECT * FROM voices WHERE workspaceId = ? AND ownerId = ? ORDER BY createdAt, voiceId";
  return {
    insert: (row: VoiceRow) => db.insert("voices", row),
    get: (voiceId: string) => db.get<VoiceRow>("SELECT * FROM voices WHERE voiceId = ?", voiceId),
    ofOwner: (workspaceId: string, ownerId: string) => db.all<VoiceRow>(ofOwner, workspaceId, ownerId),
  };
}

/** Path of an output's bytes; null once they have expired, even before they are removed. */
export function pathOf({ status, path }: OutputRow): string | null {
  return status === "COMPLETED" ? path : null;
}

function outputTable(db: Statements) {
  const expireMade =
    "UPDATE outputs SET status = 'EXPIRED', path = NULL WHERE jobSeq = ? AND status = 'COMPLETED' AND voiceId IS NULL";
  return {
    insert: (row: OutputRow) => db.insert("outputs", row),
    ofJob: (jobSeq: number) => db.all<OutputRow>("SELECT * FROM outputs WHERE jobSeq = ? ORDER BY position", jobSeq),
    byAsset: (assetId: string) => db.get<OutputRow>("SELECT * FROM outputs WHERE assetId = ?", assetId),
    /**
     * After a delete, failed outputs included. The asset id stays, so that a later use is refused as "expired", not
     * "unknown"; the paths stay until `forgetPaths`, so that an unfinished delete can be repeated.
     */
    expireAll: (jobSeq: number) =>
      db.run("UPDATE outputs SET status = 'EXPIRED', error = NULL WHERE jobSeq = ?", jobSeq),
    forgetPaths: (jobSeq: number) => db.run("UPDATE outputs SET path = NULL WHERE jobSeq = ?", jobSeq),
    /** After the retention: outputs that had bytes. */
    expireMade: (jobSeq: number) => db.run(expireMade, jobSeq),
  };
}

function unusable(file: string, problem: string, cause?: unknown): LocalServiceError {
  return new LocalServiceError("DATA_DIR_UNUSABLE", `${file} ${problem} Choose another data folder, or move it away.`, {
    cause,
  });
}

function prepare(database: DatabaseSync, file: string): void {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.["user_version"] ?? 0);
  if (version > SCHEMA_VERSION) throw unusable(file, `was written by a newer version (${version}).`);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000");
  database.exec("PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY");
  // One transaction, so that a first start needs one fsync.
  database.exec(
    `BEGIN IMMEDIATE; ${UPGRADES[version] ?? ""} ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`,
  );
}

/** Opens or creates `service.db` in the folder. @throws LocalServiceError `DATA_DIR_UNUSABLE` */
export function openDatabase(dataDir: string): DatabaseSync {
  const file = join(dataDir, "service.db");
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const database = new DatabaseSync(file);
    prepare(database, file);
    return database;
  } catch (error) {
    if (error instanceof LocalServiceError) throw error;
    throw unusable(file, `cannot be used as the service's database (${String(error)}).`, error);
  }
}

/**
 * The service's database. Reads may happen at any time; writes belong inside `write`, which batches all writes of one
 * event-loop turn into one transaction.
 */
export function openStore(dataDir: string) {
  const database = openDatabase(dataDir);
  const writer = new Writer(database);
  const statements = new Statements(database);
  return {
    /** For parts of the service with their own tables. */
    statements,
    write: <T>(work: () => T) => writer.write(work),
    afterCommit: (call: () => void) => writer.afterCommit(call),
    flush: () => writer.flush(),
    meta: metaTable(statements),
    workspaces: workspaceTable(statements),
    keys: keyTable(statements),
    jobs: jobTable(statements),
    outputs: outputTable(statements),
    events: eventTable(statements),
    idempotency: idempotencyTable(statements),
    modelRuns: modelRunTable(statements),
    files: fileTable(statements),
    voices: voiceTable(statements),
    countJobs: () => countJobs(statements),
    close() {
      writer.flush();
      database.close();
    },
  };
}

export type Store = ReturnType<typeof openStore>;
