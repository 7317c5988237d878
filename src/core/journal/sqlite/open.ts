import { accessSync, closeSync, constants, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { JournalCorruptError, JournalFolderError, JournalIoError, JournalNotDatabaseError } from "../errors.ts";
import { type BusyRetryOptions, retryWhileBusy } from "./busy-retry.ts";
import { Database } from "./database.ts";
import { journalFailure, readOnly } from "./failure.ts";
import { hasContent, inspectJournal, openUnwritten } from "./inspect.ts";
import { loadSqlite } from "./load.ts";
import { prepareSchema } from "./migrate.ts";
import { applicationId, checkOpen, newestVersion } from "./version.ts";

/** The write-ahead log is begun anew once it has about this size: 2,000 pages with their headers. */
const LOG_PAGES = 2000;
const LOG_BYTES = 8 * 1024 * 1024;

export interface OpenFile {
  readonly db: Database;
  /** This user may not write to it. */
  readonly isReadOnly: boolean;
  /**
   * For the start of each write transaction: throws when the file was moved, deleted, or lifted to a newer schema by
   * another process since.
   */
  readonly guard: () => void;
}

/**
 * Opens or creates the journal file; nothing is written to a file that is not a sound journal of a known version. One that
 * this user may only read is open for reading: its first write is refused.
 */
export async function openFile(
  file: string,
  { busyTimeoutMs, readOnly = false }: { readonly busyTimeoutMs: number; readonly readOnly?: boolean },
): Promise<OpenFile> {
  const path = resolve(file);
  const busyRetry = { busyTimeoutMs, path };
  const isReadOnly = readOnly || !prepare(path);
  const raw = await (isReadOnly ? openToRead : openToWrite)(path, busyRetry);
  const inode = inodeOf(path);
  const newest = newestVersion();
  const [version, id] = [raw.prepare("PRAGMA user_version"), raw.prepare("PRAGMA application_id")];
  const db = new Database(raw, path);
  // Another one once another connection has committed (sqlite.org/pragma.html, "data_version").
  const changes = raw.prepare("PRAGMA data_version");
  let seen: unknown;
  const guard = () => {
    if (inodeOf(path) !== inode) throw replaced(path);
    const now = changes.get()?.data_version;
    if (now !== seen) {
      db.knownRuns.clear();
      const isAsOpened = version.get()?.user_version === newest && id.get()?.application_id === applicationId;
      if (!isAsOpened) checkOpen(raw, path);
      seen = now;
    }
  };
  return { db, isReadOnly, guard };
}

async function openToWrite(path: string, busyRetry: BusyRetryOptions): Promise<DatabaseSync> {
  await inspectWithRetry(path, busyRetry);
  const { DatabaseSync } = loadSqlite();
  const raw = await retryWhileBusy(() => new DatabaseSync(path, { timeout: 0 }), busyRetry);
  try {
    await retryWhileBusy(() => prepareSchema(raw, path), busyRetry);
    // `fullfsync`: on macOS a plain fsync leaves the data in the drive's cache.
    const settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;";
    await retryWhileBusy(
      () => raw.exec(`${settings} PRAGMA journal_size_limit = ${LOG_BYTES}; PRAGMA wal_autocheckpoint = ${LOG_PAGES}`),
      busyRetry,
    );
  } catch (error) {
    raw.close();
    throw error;
  }
  return raw;
}

/** One of an older version, or whose log cannot be read without writing beside it, is refused here. */
async function openToRead(path: string, busyRetry: BusyRetryOptions): Promise<DatabaseSync> {
  try {
    await inspectWithRetry(path, busyRetry);
    const raw = await retryWhileBusy(() => openUnwritten(path, hasContent(`${path}-wal`)), busyRetry);
    if (checkOpen(raw, path) === newestVersion()) return raw;
    raw.close();
  } catch (error) {
    const failure = journalFailure(error, path);
    throw failure instanceof JournalFolderError ? readOnly(path, error) : failure;
  }
  throw readOnly(path);
}

/**
 * A journal that another process is making right now has, for a moment, a header that names no program, or less than it says. A
 * file written within the last two seconds is therefore looked at again before it is called somebody else's, or damaged.
 */
async function inspectWithRetry(path: string, busyRetry: BusyRetryOptions): Promise<void> {
  for (let polls = 1; ; polls++) {
    try {
      return await retryWhileBusy(() => inspectJournal(path), busyRetry);
    } catch (error) {
      const isFresh = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < 2000;
      const mayBeInTheMaking = error instanceof JournalNotDatabaseError || error instanceof JournalCorruptError;
      if (!mayBeInTheMaking || !isFresh || polls > 10) throw error;
      await delay(30);
    }
  }
}

/** False: it can be read only. */
function prepare(path: string): boolean {
  prepareFolder(path);
  return prepareFile(path);
}

function prepareFolder(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.X_OK);
  } catch (cause) {
    throw folderError(path, "cannot be made or entered", cause);
  }
}

/** The file is private from its first moment; SQLite gives its side files the same mode. False: it can be read only. */
function prepareFile(path: string): boolean {
  const exists = statOf(path);
  if (exists !== undefined && !exists.isFile()) throw folderError(path, "holds no file of that name, but a folder");
  const isFolderWritable = isWritable(dirname(path));
  if (exists !== undefined && !(isFolderWritable && isWritable(path))) return false;
  if (!isFolderWritable) throw folderError(path, "is not writable (SQLite keeps its log beside the journal)");
  if (exists !== undefined) return true;
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (cause) {
    throw folderError(path, "lets no journal of that name be made (a link that leads nowhere, perhaps)", cause);
  }
  return true;
}

/** Undefined where nothing is, or a link leads nowhere. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw folderError(path, `can hold no journal of that name (${(cause as NodeJS.ErrnoException).code})`, cause);
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function folderError(path: string, how: string, cause?: unknown): JournalFolderError {
  return new JournalFolderError(
    path,
    `The folder ${dirname(path)} of the journal ${path} ${how}. Make it a folder that this user can write to, or choose another journal.`,
    { cause },
  );
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function replaced(path: string): JournalIoError {
  return new JournalIoError(
    path,
    `The journal ${path} was moved, replaced or deleted while it was open; nothing more is written. Put it back, then resume.`,
  );
}
