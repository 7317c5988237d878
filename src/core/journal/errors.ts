import { ShowrunnerError } from "../kit/errors.ts";

/** Base of what can go wrong with a journal; `path` is the file (or `memory`, or the database without its password). */
abstract class JournalFileError extends ShowrunnerError {
  readonly path: string;

  constructor(path: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.path = path;
  }
}

/** The file is no Showrunner journal: not SQLite at all, or another program's database. It was not touched. */
export class JournalNotDatabaseError extends JournalFileError {
  readonly code = "JOURNAL_NOT_A_JOURNAL";
}

/** The file is a journal, but truncated or damaged. It was not touched by the check that found it. */
export class JournalCorruptError extends JournalFileError {
  readonly code = "JOURNAL_CORRUPT";
}

/** A newer Showrunner wrote the file (or one of its events). It was not touched. */
export class JournalNewerVersionError extends JournalFileError {
  readonly code = "JOURNAL_NEWER_VERSION";
}

/** The file, its folder, or the medium that it lies on cannot be written. */
export class JournalReadOnlyError extends JournalFileError {
  readonly code = "JOURNAL_READ_ONLY";
}

/** The journal's folder is missing and cannot be created, or cannot be written to (SQLite keeps files beside its own). */
export class JournalFolderError extends JournalFileError {
  readonly code = "JOURNAL_FOLDER";
}

/** The disk of the journal is full. Nothing of the refused transaction was written; the store stays usable. */
export class JournalDiskFullError extends JournalFileError {
  readonly code = "JOURNAL_DISK_FULL";
}

/** The system could not read or write the file (a failing disk, a lost mount). Nothing was reported as committed. */
export class JournalIoError extends JournalFileError {
  readonly code = "JOURNAL_IO";
}

/** Another process kept the journal locked for longer than `busyTimeoutMs`. */
export class JournalBusyError extends JournalFileError {
  readonly code = "JOURNAL_BUSY";
}

/** The database of the journal lets this program not in, or not do what a journal needs: what to change is in the message. */
export class JournalAccessError extends JournalFileError {
  readonly code = "JOURNAL_ACCESS";
}

/** The journal is on PostgreSQL, whose driver is a package of its own and not installed. */
export class JournalDriverMissingError extends JournalFileError {
  readonly code = "JOURNAL_DRIVER_MISSING";
  /** What to type next. */
  readonly next = "npm install pg";
}

/** The database of the journal could not be reached for as long as `unreachableTimeoutMs`. */
export class JournalUnreachableError extends JournalFileError {
  readonly code = "JOURNAL_UNREACHABLE";
}

/** The store was closed before, or while, the call was made. */
export class JournalClosedError extends JournalFileError {
  readonly code = "JOURNAL_CLOSED";
}

/** What was to be written breaks the journal's own rules: a mistake of the caller, found before anything was written. */
export class JournalRecordError extends ShowrunnerError {
  readonly code = "JOURNAL_RECORD_INVALID";
}

/** A run with this id exists. */
export class RunExistsError extends ShowrunnerError {
  readonly code = "RUN_EXISTS";
  readonly runId: string;

  constructor(runId: string) {
    super(`Run "${runId}" exists in this journal. Resume it, or choose another id.`);
    this.runId = runId;
  }
}

/** The journal has no run with this id. */
export class RunUnknownError extends ShowrunnerError {
  readonly code = "RUN_UNKNOWN";
  readonly runId: string;

  constructor(runId: string, path: string | null = null) {
    super(
      `${path === null ? "The journal" : `The journal ${path}`} has no run "${runId}". List its runs, or name another journal.`,
    );
    this.runId = runId;
  }
}

/** The journal holds an event that its charts do not allow there: it was damaged, or written by something else. */
export class IllegalEventError extends ShowrunnerError {
  readonly code = "JOURNAL_ILLEGAL_EVENT";
  constructor(runId: string, seq: number, event: string, from: string) {
    super(
      `Run ${runId}, event ${seq}: ${event} cannot happen in state ${from}. The journal was damaged or written by another program; restore it from a copy.`,
    );
  }
}

/** The run belongs to another account or service than the one it was resumed with. */
export class AccountMismatchError extends ShowrunnerError {
  readonly code = "ACCOUNT_MISMATCH";
  readonly runId: string;
  constructor(runId: string, requested: string, given: string) {
    super(
      `Run "${runId}" was started with ${requested}, and now it is ${given}. Resume it with the account it was paid from; if this is that account under a new key or address: showrunner resume ${runId} --account-moved`,
    );
    this.runId = runId;
  }
}
