import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { isShowrunnerError } from "../../kit/errors.ts";
import {
  JournalCorruptError,
  JournalDiskFullError,
  JournalFolderError,
  JournalIoError,
  JournalNotDatabaseError,
  JournalReadOnlyError,
} from "../errors.ts";

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
        `The journal ${path} is damaged (${messageOf(error)}). Stop using the journal, and restore it from a copy; \`sqlite3 ${path} .recover\` may save the readable part.`,
        { cause: error },
      );
    case result.notADatabase:
      return notAJournal(path, "is not an SQLite database", error);
    case result.readonly:
      return readOnly(path, error);
    case result.cantOpen:
      return new JournalFolderError(
        path,
        `The journal ${path} cannot be opened: its folder is missing or not writable. Make ${dirname(path)} writable for this user, or choose another journal.`,
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
    `The journal ${path} is read-only for this user (the file, its folder or the disk). It can be read in place only if its schema version is current and it has no log file (-wal). Otherwise make the file and its folder writable, or copy the journal with its log files to another folder and use the copy (--journal FILE).`,
    { cause },
  );
}

function diskFull(path: string, cause: unknown): JournalDiskFullError {
  return new JournalDiskFullError(
    path,
    `No space is left on the disk of the journal ${path}; nothing was committed. Free some space, then resume.`,
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

/** SQLite reports a full disk as an I/O error if it cannot grow its shared-memory file. */
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
