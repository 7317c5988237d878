import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { JournalCorruptError } from "../errors.ts";
import { isBusy, journalFailure, notAJournal } from "./failure.ts";
import { loadSqlite } from "./load.ts";
import { checkOpen, checkVersion, programOf } from "./version.ts";

/** Files up to this size are checked page by page before they are opened for writing; larger ones by their header. */
const fullCheckBytes = 8 * 1024 * 1024;
const headerBytes = 100;
const magic = "SQLite format 3\0";

/**
 * Looks at an existing file before SQLite may write to it: throws when it is no journal, truncated, damaged or newer.
 * Nothing is written, whatever is found. An empty file counts as a new journal. Throws SQLite's busy error when another
 * process is at it: try again.
 */
export function inspectJournal(path: string): void {
  try {
    inspectOnce(path);
  } catch (error) {
    // Somebody opened it meanwhile, so what was read may be a mixture: only a second look counts.
    if (error instanceof JournalCorruptError && hasContent(`${path}-wal`)) return inspectOnce(path);
    throw error;
  }
}

function inspectOnce(path: string): void {
  // A rollback log exists only while, or after a crash while, a journal is created: SQLite itself has to recover that.
  if (hasContent(`${path}-journal`)) return;
  const logged = hasContent(`${path}-wal`);
  const { size, header } = readHeader(path);
  if (size === 0) {
    if (logged) throw truncated(path, "it is empty, yet its log is not");
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

/** Offsets are those of SQLite's file format (sqlite.org/fileformat2.html, "The Database Header"). */
function checkHeader(path: string, size: number, header: Buffer, logged: boolean): void {
  const known = Buffer.from(magic, "latin1").subarray(0, header.length);
  if (!header.subarray(0, magic.length).equals(known)) throw notAJournal(path, "is not an SQLite database");
  if (header.length < headerBytes) throw truncated(path, "it ends within its header");
  // A log may hold newer pages than the file itself.
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

/** Without a log nobody has the file open: then SQLite need not even make its lock files. */
export function openUnwritten(path: string, logged: boolean): DatabaseSync {
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
    `The journal ${path} is damaged (${String(finding).trim()}); it was left untouched. Restore a copy; \`sqlite3 ${path} .recover\` may save what is readable.`,
  );
}

function truncated(path: string, how: string): JournalCorruptError {
  return new JournalCorruptError(
    path,
    `The journal ${path} is truncated: ${how}. It was left untouched. Restore a copy of it and of the files beside it, or choose another journal.`,
  );
}

export function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
