import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalServiceError } from "../errors.ts";
import { Statements, Writer } from "./database.ts";
import { SCHEMA, SCHEMA_VERSION } from "./rows.ts";
import {
  chatTable,
  countJobs,
  eventTable,
  fileTable,
  idempotencyTable,
  jobTable,
  keyTable,
  metaTable,
  modelRunTable,
  outputTable,
  voiceTable,
  workspaceTable,
} from "./tables.ts";

function unusable(file: string, problem: string, cause?: unknown): LocalServiceError {
  return new LocalServiceError(
    "DATA_DIR_UNUSABLE",
    `${file} ${problem} Choose another data folder or move this file.`,
    { cause },
  );
}

function prepare(database: DatabaseSync, file: string): void {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.["user_version"] ?? 0);
  if (version > SCHEMA_VERSION)
    throw unusable(file, `was written by a newer version of Showrunner (schema ${version}).`);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000");
  database.exec("PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY");
  // Uses one transaction, so that the first start needs only one fsync.
  database.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}

export function openDatabase(dataDir: string): DatabaseSync {
  const file = join(dataDir, "service.db");
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    makePrivate(file);
    const database = new DatabaseSync(file);
    prepare(database, file);
    return database;
  } catch (error) {
    if (error instanceof LocalServiceError) throw error;
    throw unusable(file, `cannot be used as the service's database (${String(error)}).`, error);
  }
}

function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(path)) chmodSync(path, 0o600);
}

/** Opens the database and its tables. Reads are possible at any time, but writes only inside `write`. */
export function openStore(dataDir: string) {
  const database = openDatabase(dataDir);
  const writer = new Writer(database);
  const statements = new Statements(database);
  return {
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
    chats: chatTable(statements),
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
