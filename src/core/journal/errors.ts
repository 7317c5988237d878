import { ShowrunnerError } from "../kit/errors.ts";

abstract class JournalFileError extends ShowrunnerError {
  readonly path: string;

  constructor(path: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.path = path;
  }
}

/** The file or database is not a Showrunner journal. Nothing in it was changed. */
export class JournalNotDatabaseError extends JournalFileError {
  readonly code = "JOURNAL_NOT_A_JOURNAL";
}

/** The journal is truncated or damaged. Showrunner did not change the file. */
export class JournalCorruptError extends JournalFileError {
  readonly code = "JOURNAL_CORRUPT";
}

/** A newer version of Showrunner wrote the journal or an event in it. The journal was not changed. */
export class JournalNewerVersionError extends JournalFileError {
  readonly code = "JOURNAL_NEWER_VERSION";
}

/** The journal file, its folder or its disk cannot be written to. */
export class JournalReadOnlyError extends JournalFileError {
  readonly code = "JOURNAL_READ_ONLY";
}

/** The journal's folder cannot be created or written to. */
export class JournalFolderError extends JournalFileError {
  readonly code = "JOURNAL_FOLDER";
}

/** The journal's disk is full. The transaction that failed wrote nothing. */
export class JournalDiskFullError extends JournalFileError {
  readonly code = "JOURNAL_DISK_FULL";
}

/** The operating system could not read or write the journal file. */
export class JournalIoError extends JournalFileError {
  readonly code = "JOURNAL_IO";
}

/** Another process kept the journal locked for longer than `busyTimeoutMs`. */
export class JournalBusyError extends JournalFileError {
  readonly code = "JOURNAL_BUSY";
}

/** The journal's database refuses the login, or the database user lacks a permission. */
export class JournalAccessError extends JournalFileError {
  readonly code = "JOURNAL_ACCESS";
}

/** The `pg` package, which a PostgreSQL journal needs, is not installed. */
export class JournalDriverMissingError extends JournalFileError {
  readonly code = "JOURNAL_DRIVER_MISSING";
  readonly next = "npm install pg";
}

/** The journal's database could not be reached within `unreachableTimeoutMs`. */
export class JournalUnreachableError extends JournalFileError {
  readonly code = "JOURNAL_UNREACHABLE";
}

/** The journal was closed before or during the call. */
export class JournalClosedError extends JournalFileError {
  readonly code = "JOURNAL_CLOSED";
}

/** The calling code passed invalid data. Nothing was written. */
export class JournalRecordError extends ShowrunnerError {
  readonly code = "JOURNAL_RECORD_INVALID";
}

/** A run with this id already exists. */
export class RunExistsError extends ShowrunnerError {
  readonly code = "RUN_EXISTS";
  readonly runId: string;

  constructor(runId: string) {
    super(`Run "${runId}" already exists in this journal. Resume the run, or choose another id.`);
    this.runId = runId;
  }
}

/** The journal has no run with this id. */
export class RunUnknownError extends ShowrunnerError {
  readonly code = "RUN_UNKNOWN";
  readonly runId: string;

  constructor(runId: string, path: string | null = null) {
    super(
      `${path === null ? "The journal" : `The journal ${path}`} has no run "${runId}". List its runs, or choose another journal.`,
    );
    this.runId = runId;
  }
}

/** The journal contains an event that is not allowed in the run's state. The journal may be damaged. */
export class IllegalEventError extends ShowrunnerError {
  readonly code = "JOURNAL_ILLEGAL_EVENT";
  constructor(runId: string, seq: number, event: string, from: string) {
    super(
      `Run ${runId}, event ${seq}: ${event} cannot happen in state ${from}. The journal was damaged or written by another program; restore it from a copy.`,
    );
  }
}

/** The run belongs to another account or another service. */
export class AccountMismatchError extends ShowrunnerError {
  readonly code = "ACCOUNT_MISMATCH";
  readonly runId: string;
  constructor(runId: string, requested: string, given: string) {
    super(
      `Run "${runId}" was started with ${requested}, but is being resumed with ${given}. Use the account that paid for the run. If this is the same account with a new key or address, run: showrunner resume ${runId} --account-moved`,
    );
    this.runId = runId;
  }
}
