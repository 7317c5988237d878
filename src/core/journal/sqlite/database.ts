import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRawSync } from "node:zlib";
import { isShowrunnerError } from "../../kit/errors.ts";
import { type Columns, columnsOf } from "../columns.ts";
import {
  JournalCorruptError,
  JournalDiskFullError,
  JournalFolderError,
  JournalIoError,
  JournalNotDatabaseError,
  JournalReadOnlyError,
} from "../errors.ts";

export type Row = Record<string, SQLOutputValue>;

interface Statement {
  readonly prepared: StatementSync;
  readonly isOnRuns: boolean;
}

export class Database {
  readonly path: string;
  readonly columns: Columns;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Statement>();
  writes = 0;
  /** Rows of `runs` as last read. The map must be cleared if another connection may have written. */
  readonly knownRuns = new Map<string, object>();

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.path = path;
    this.columns = columnsOf(path);
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).prepared.get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).prepared.all(...values);
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.writes += 1;
    const { prepared, isOnRuns } = this.#prepare(sql);
    if (isOnRuns) this.knownRuns.clear();
    prepared.run(...values);
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = { prepared: this.#db.prepare(sql), isOnRuns: /\bruns\b/.test(sql) };
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Text as stored in the database. Large text is deflated. */
export type EncodedText = string | Uint8Array;

const PACKED_FROM_LENGTH = 4_096;
/** Text of at least this length is deflated on another thread, to avoid blocking the event loop. */
const PACKED_ASIDE_FROM_LENGTH = 262_144;
/** Maximum size of a decompressed text. Showrunner never writes longer texts, so anything larger is damaged. */
const LONGEST_BYTES = 512 * 1024 * 1024;

const LEVEL = 1;
const [LEAST_AT_ONCE, MOST_AT_ONCE] = [16_384, 4_194_304];
const TYPICAL_RATIO = 8;
const deflateAside = promisify(deflateRaw) as (text: string, options: object) => Promise<Buffer>;

export function packText(text: string): EncodedText {
  return text.length < PACKED_FROM_LENGTH ? text : deflateRawSync(text, { level: LEVEL });
}

export function packAside(text: string): EncodedText | Promise<EncodedText> {
  if (text.length < PACKED_ASIDE_FROM_LENGTH) return packText(text);
  return deflateAside(text, { level: LEVEL, chunkSize: PACKED_ASIDE_FROM_LENGTH });
}

export function unpackText(stored: unknown): string | null {
  if (typeof stored === "string") return stored;
  if (!(stored instanceof Uint8Array)) return null;
  try {
    const chunkSize = Math.min(MOST_AT_ONCE, Math.max(LEAST_AT_ONCE, TYPICAL_RATIO * stored.length));
    return inflateRawSync(stored, { maxOutputLength: LONGEST_BYTES, chunkSize }).toString();
  } catch {
    return null;
  }
}

type Sqlite = typeof import("node:sqlite");

let loaded: Sqlite | undefined;

/** Loads Node's SQLite without its experimental warning on Node 22. */
export function loadSqlite(): Sqlite {
  if (loaded !== undefined) return loaded;
  const emitWarning = process.emitWarning;
  const patched = (...args: unknown[]): void => {
    if (!isSqliteWarning(args)) Reflect.apply(emitWarning, process, args);
  };
  process.emitWarning = patched;
  try {
    loaded = process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
  return loaded;
}

function isSqliteWarning([warning, type]: readonly unknown[]): boolean {
  return type === "ExperimentalWarning" && String(warning).includes("SQLite");
}

/** SQLite's primary result codes (sqlite.org/rescode.html). */
const result = { busy: 5, locked: 6, readonly: 8, io: 10, corrupt: 11, full: 13, cantOpen: 14, notADatabase: 26 };

function resultOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return error.errcode & 0xff;
}

export function isBusy(error: unknown): boolean {
  const code = resultOf(error);
  return code === result.busy || code === result.locked;
}

export function journalFailure(error: unknown, path: string): unknown {
  if (isShowrunnerError(error)) return error;
  switch (resultOf(error)) {
    case null:
      return error;
    case result.full:
      return diskFull(path, error);
    case result.io:
      return hasRoom(path) ? ioFailed(path, error) : diskFull(path, error);
    case result.corrupt:
      return new JournalCorruptError(
        path,
        `The journal ${path} is damaged (${messageOf(error)}). Stop using the journal, and restore it from a copy; \`sqlite3 ${path} .recover\` may recover part of it.`,
        { cause: error },
      );
    case result.notADatabase:
      return notAJournal(path, "is not an SQLite database", error);
    case result.readonly:
      return readOnly(path, error);
    case result.cantOpen:
      return new JournalFolderError(
        path,
        `The journal ${path} cannot be opened: its folder is missing or not writable. Make sure that ${dirname(path)} exists and that this user can write to it, or choose another journal.`,
        { cause: error },
      );
    default:
      return ioFailed(path, error);
  }
}

export function notAJournal(path: string, why: string, cause?: unknown): JournalNotDatabaseError {
  return new JournalNotDatabaseError(
    path,
    `${path} ${why}, so it is not a Showrunner journal. Nothing was changed. Choose another file name for the journal.`,
    { cause },
  );
}

export function readOnly(path: string, cause?: unknown): JournalReadOnlyError {
  return new JournalReadOnlyError(
    path,
    `This user cannot write to the journal ${path}: the file, its folder or the disk is read-only. The journal can be read in place only if its schema version is current and it has no log file (-wal). Otherwise make the file and its folder writable, or copy the journal and its log files to another folder and use the copy (--journal FILE).`,
    { cause },
  );
}

function diskFull(path: string, cause: unknown): JournalDiskFullError {
  return new JournalDiskFullError(
    path,
    `The disk that holds the journal ${path} is full; nothing was committed. Free some space, then resume.`,
    { cause },
  );
}

function ioFailed(path: string, cause: unknown): JournalIoError {
  return new JournalIoError(
    path,
    `The journal ${path} could not be read or written (${messageOf(cause)}); nothing was committed. Check the disk, then resume.`,
    { cause },
  );
}

/** Returns true if the disk has free space. SQLite reports some full disks as I/O errors. */
function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize > 256 * 1024;
  } catch {
    return true;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
