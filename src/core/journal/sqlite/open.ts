import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { JournalCorruptError, JournalFolderError, JournalIoError, JournalNotDatabaseError } from "../errors.ts";
import { Database, isBusy, journalFailure, loadSqlite, notAJournal, readOnly } from "./database.ts";
import { applicationId, checkOpen, checkVersion, newestVersion, prepareSchema, programOf } from "./migrate.ts";
import { type BusyRetryOptions, retryWhileBusy } from "./writer.ts";

const LOG_PAGES = 2000;
const LOG_BYTES = 8 * 1024 * 1024;

export interface OpenFile {
  readonly db: Database;
  readonly isReadOnly: boolean;
  /** Throws if another process moved, deleted or migrated the file. */
  readonly guard: () => void;
}

/** Opens or creates the journal file. If the user has no write access, the file is opened for reading only. */
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
  // The value of this pragma changes when another connection commits (sqlite.org/pragma.html, "data_version").
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
    // `fullfsync`: on macOS, a plain fsync leaves the data in the drive's cache.
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

/**
 * Opens a journal for reading. Throws if the journal's format is older than this program's, or if its write-ahead log
 * cannot be read without writing files.
 */
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

/** Inspects a journal. Retries if the file is new, because another process may still be creating it. */
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
    throw folderError(path, "cannot be created or opened", cause);
  }
}

function prepareFile(path: string): boolean {
  const exists = statOf(path);
  if (exists !== undefined && !exists.isFile())
    throw folderError(path, "already contains a folder or a device with the journal's name");
  const isFolderWritable = isWritable(dirname(path));
  if (exists !== undefined && !(isFolderWritable && isWritable(path))) return false;
  if (!isFolderWritable) throw folderError(path, "is not writable (SQLite keeps its log beside the journal)");
  if (exists !== undefined) return true;
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (cause) {
    throw folderError(
      path,
      "does not allow the journal file to be created (there may be a broken symbolic link with its name)",
      cause,
    );
  }
  return true;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw folderError(
      path,
      `could not be searched for the journal file (${(cause as NodeJS.ErrnoException).code})`,
      cause,
    );
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
    `The folder ${dirname(path)} of the journal ${path} ${how}. Use a folder that this user can write to, or choose another journal.`,
    { cause },
  );
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function replaced(path: string): JournalIoError {
  return new JournalIoError(
    path,
    `The journal ${path} was moved, replaced or deleted while it was open; nothing more was written to it. Put the file back, then resume.`,
  );
}

/** Files up to this size are checked page by page; for larger files, only the header is checked. */
const fullCheckBytes = 8 * 1024 * 1024;
const headerBytes = 100;
const magic = "SQLite format 3\0";

/** Checks a file before SQLite may write to it. An empty file is accepted as a new journal. */
function inspectJournal(path: string): void {
  try {
    inspectOnce(path);
  } catch (error) {
    // Another process opened the file meanwhile, so the read may have been inconsistent.
    if (error instanceof JournalCorruptError && hasContent(`${path}-wal`)) return inspectOnce(path);
    throw error;
  }
}

function inspectOnce(path: string): void {
  // A rollback log exists only while a journal is created, or after a crash at that time. SQLite must then recover the
  // file.
  if (hasContent(`${path}-journal`)) return;
  const logged = hasContent(`${path}-wal`);
  const { size, header } = readHeader(path);
  if (size === 0) {
    if (logged) throw truncated(path, "the file is empty, but its write-ahead log (-wal) is not");
    return;
  }
  checkHeader(path, size, header, logged);
  if (size <= fullCheckBytes || logged) checkPages(path, { logged, every: size <= fullCheckBytes });
}

interface Header {
  readonly size: number;
  readonly header: Buffer;
}

function readHeader(path: string): Header {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(headerBytes);
    const length = readSync(file, header, 0, headerBytes, 0);
    return { size: fstatSync(file).size, header: header.subarray(0, length) };
  } finally {
    closeSync(file);
  }
}

/** Checks the header of a journal file. For the offsets, see "The Database Header" at sqlite.org/fileformat2.html. */
function checkHeader(path: string, size: number, header: Buffer, logged: boolean): void {
  const known = Buffer.from(magic, "latin1").subarray(0, header.length);
  if (!header.subarray(0, magic.length).equals(known)) throw notAJournal(path, "is not an SQLite database");
  if (header.length < headerBytes) throw truncated(path, "it ends inside its header");
  // The log may have newer pages than the file.
  if (logged) return;
  const version = header.readUInt32BE(60);
  checkVersion(path, { id: header.readUInt32BE(68), version, program: () => programIn(path, version) });
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const expected = header.readUInt32BE(28) * pageSize;
  const countIsValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  if (countIsValid && size < expected) throw truncated(path, `it has ${size} of ${expected} bytes`);
}

function checkPages(path: string, { logged, every }: { readonly logged: boolean; readonly every: boolean }): void {
  try {
    const db = openUnwritten(path, logged);
    try {
      checkOpen(db, path);
      if (every) requireSound(path, db.prepare("PRAGMA quick_check(1)").get()?.quick_check);
    } finally {
      db.close();
    }
  } catch (error) {
    throw isBusy(error) ? error : journalFailure(error, path);
  }
}

/**
 * Opens the file read-only. Uses no locks if there is no write-ahead log, because then no other process has it open.
 */
function openUnwritten(path: string, logged: boolean): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const url = pathToFileURL(path);
  if (!logged) url.search = "?immutable=1";
  return new DatabaseSync(url, { readOnly: true });
}

function programIn(path: string, version: number): string | null {
  try {
    const db = openUnwritten(path, false);
    try {
      return programOf(db, version);
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

function requireSound(path: string, finding: unknown): void {
  if (finding === "ok") return;
  throw new JournalCorruptError(
    path,
    `The journal ${path} is damaged (${String(finding).trim()}). Nothing was changed. Restore it from a copy; \`sqlite3 ${path} .recover\` may save the readable part.`,
  );
}

function truncated(path: string, how: string): JournalCorruptError {
  return new JournalCorruptError(
    path,
    `The journal ${path} is truncated: ${how}. Nothing was changed. Restore a copy of the journal and its log files, or choose another journal.`,
  );
}

function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
