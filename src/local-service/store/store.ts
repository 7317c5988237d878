import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalServiceError } from "../errors.ts";
import { keyTable, workspaceTable } from "./accounts.ts";
import { countJobs, idempotencyTable, metaTable, modelRunTable } from "./bookkeeping.ts";
import { eventTable } from "./events.ts";
import { jobTable } from "./jobs.ts";
import type { FileRow, OutputRow, VoiceRow } from "./rows.ts";
import { SCHEMA, SCHEMA_VERSION, UPGRADES } from "./schema.ts";
import { command, insertSql, query } from "./statement.ts";
import { Writer } from "./writer.ts";

const FILE_COLUMNS = [
  "fileId",
  "workspaceId",
  "ownerId",
  "url",
  "path",
  "kind",
  "contentType",
  "width",
  "height",
  "durationMs",
  "fault",
  "sizeBytes",
  "createdAt",
  "expiresAt",
] as const satisfies readonly (keyof FileRow)[];

/** Uploaded files, until some time after their handles expired. */
export function fileTable(database: DatabaseSync) {
  const insert = command(database, insertSql("files", FILE_COLUMNS));
  const get = query<FileRow>(database, "SELECT * FROM files WHERE fileId = ?");
  const expired = query<FileRow>(database, "SELECT * FROM files WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?");
  const remove = command(database, "DELETE FROM files WHERE fileId = ?");
  return {
    insert: (row: FileRow) => insert(...FILE_COLUMNS.map((column) => row[column])),
    get: (fileId: string) => get.get(fileId),
    expiredBy: (instant: number, limit: number) => expired.all(instant, limit),
    remove: (fileId: string) => remove(fileId),
  };
}

/** Voices that clone jobs made. They do not expire. */
export function voiceTable(database: DatabaseSync) {
  const insert = command(
    database,
    insertSql("voices", ["voiceId", "workspaceId", "ownerId", "jobSeq", "name", "profile", "createdAt"]),
  );
  const get = query<VoiceRow>(database, "SELECT * FROM voices WHERE voiceId = ?");
  const ofOwner = query<VoiceRow>(
    database,
    "SELECT * FROM voices WHERE workspaceId = ? AND ownerId = ? ORDER BY createdAt, voiceId",
  );
  return {
    insert: (row: VoiceRow) =>
      insert(row.voiceId, row.workspaceId, row.ownerId, row.jobSeq, row.name, row.profile, row.createdAt),
    get: (voiceId: string) => get.get(voiceId),
    ofOwner: (workspaceId: string, ownerId: string) => ofOwner.all(workspaceId, ownerId),
  };
}

const COLUMNS = [
  "jobSeq",
  "position",
  "status",
  "assetId",
  "voiceId",
  "path",
  "contentType",
  "width",
  "height",
  "durationMs",
  "fps",
  "sizeBytes",
  "fpsShownAt",
  "error",
] as const satisfies readonly (keyof OutputRow)[];

/** Where an output's bytes are; null once they have expired, even while they are still to be removed. */
export function pathOf({ status, path }: OutputRow): string | null {
  return status === "COMPLETED" ? path : null;
}

export function outputTable(database: DatabaseSync) {
  const insert = command(database, insertSql("outputs", COLUMNS));
  const ofJob = query<OutputRow>(database, "SELECT * FROM outputs WHERE jobSeq = ? ORDER BY position");
  const byAsset = query<OutputRow>(database, "SELECT * FROM outputs WHERE assetId = ?");
  // The asset id stays in the row, so that a later use can be told "expired" from "unknown".
  const expire = command(database, "UPDATE outputs SET status = 'EXPIRED', error = NULL WHERE jobSeq = ?");
  const forgetPaths = command(database, "UPDATE outputs SET path = NULL WHERE jobSeq = ?");
  const expireMade = command(
    database,
    "UPDATE outputs SET status = 'EXPIRED', path = NULL WHERE jobSeq = ? AND status = 'COMPLETED' AND voiceId IS NULL",
  );
  return {
    insert: (row: OutputRow) => insert(...COLUMNS.map((column) => row[column])),
    ofJob: (jobSeq: number) => ofJob.all(jobSeq),
    byAsset: (assetId: string) => byAsset.get(assetId),
    /** After a delete: failed ones too. Their paths stay until `forgetPaths`, so that an unfinished delete can be repeated. */
    expireAll: (jobSeq: number) => expire(jobSeq),
    forgetPaths: (jobSeq: number) => forgetPaths(jobSeq),
    /** After the retention: what had bytes. */
    expireMade: (jobSeq: number) => expireMade(jobSeq),
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
  // One transaction, so that a first start waits for the disk once.
  database.exec(
    `BEGIN IMMEDIATE; ${UPGRADES[version] ?? ""} ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`,
  );
}

/** Opens (or makes) `service.db` in the folder. @throws LocalServiceError `DATA_DIR_UNUSABLE` */
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
 * Everything the service remembers. Reads may be made at any time; writes belong inside `write`, whose work runs in one
 * transaction with whatever else was asked for in the same turn.
 */
export function openStore(dataDir: string) {
  const database = openDatabase(dataDir);
  const writer = new Writer(database);
  return {
    /** For parts of the service that keep tables of their own. */
    database,
    write: <T>(work: () => T) => writer.write(work),
    afterCommit: (call: () => void) => writer.afterCommit(call),
    flush: () => writer.flush(),
    meta: metaTable(database),
    workspaces: workspaceTable(database),
    keys: keyTable(database),
    jobs: jobTable(database),
    outputs: outputTable(database),
    events: eventTable(database),
    idempotency: idempotencyTable(database),
    modelRuns: modelRunTable(database),
    files: fileTable(database),
    voices: voiceTable(database),
    countJobs: countJobs(database),
    close() {
      writer.flush();
      database.close();
    },
  };
}

export type Store = ReturnType<typeof openStore>;
