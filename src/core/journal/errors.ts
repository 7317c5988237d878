import { ShowrunnerError } from "../kit/errors.ts";

/** An error of a journal. `path`: the file's path, `memory`, or the database's URL without the password. */
abstract class JournalFileError extends ShowrunnerError {
  readonly path: string;

  constructor(path: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.path = path;
  }
}

/**
 * The file is not a Showrunner journal, but another SQLite database or another kind of file. The file was not changed.
 */
export class JournalNotDatabaseError extends JournalFileError {
  readonly code = "JOURNAL_NOT_A_JOURNAL";
}

/** The file is a journal, but it is truncated or damaged. Showrunner did not change the file. */
export class JournalCorruptError extends JournalFileError {
  readonly code = "JOURNAL_CORRUPT";
}

/** The file, or an event in it, was written by a newer version of Showrunner. The file was not changed. */
export class JournalNewerVersionError extends JournalFileError {
  readonly code = "JOURNAL_NEWER_VERSION";
}

/** The file, its folder, or its disk cannot be written to. */
export class JournalReadOnlyError extends JournalFileError {
  readonly code = "JOURNAL_READ_ONLY";
}

/** The journal's folder cannot be created or written to. SQLite must be able to create files next to the journal. */
export class JournalFolderError extends JournalFileError {
  readonly code = "JOURNAL_FOLDER";
}

/** The journal's disk is full. The refused transaction wrote nothing, and the store stays usable. */
export class JournalDiskFullError extends JournalFileError {
  readonly code = "JOURNAL_DISK_FULL";
}

/** The operating system could not read or write the file, for example because of a failing disk or a lost mount. */
export class JournalIoError extends JournalFileError {
  readonly code = "JOURNAL_IO";
}

/** Another process kept the journal locked for longer than `busyTimeoutMs`. */
export class JournalBusyError extends JournalFileError {
  readonly code = "JOURNAL_BUSY";
}

/** The journal's database refuses the login or a permission that a journal needs. The message explains what to do. */
export class JournalAccessError extends JournalFileError {
  readonly code = "JOURNAL_ACCESS";
}

/** The journal is in PostgreSQL, but the driver (a separate package) is not installed. */
export class JournalDriverMissingError extends JournalFileError {
  readonly code = "JOURNAL_DRIVER_MISSING";
  /** The command that installs the driver. */
  readonly next = "npm install pg";
}

/** The journal's database could not be reached within `unreachableTimeoutMs`. */
export class JournalUnreachableError extends JournalFileError {
  readonly code = "JOURNAL_UNREACHABLE";
}

/** The store was closed before or during the call. */
export class JournalClosedError extends JournalFileError {
  readonly code = "JOURNAL_CLOSED";
}

/** The record to be written violates the journal's rules because of a bug in the calling code. Nothing was written. */
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

/**
 * The journal contains an event that the lifecycle does not allow at this point. The journal was damaged, or another
 * program wrote to it.
 */
export class IllegalEventError extends ShowrunnerError {
  readonly code = "JOURNAL_ILLEGAL_EVENT";
  constructor(runId: string, seq: number, event: string, from: string) {
    super(
      `Run ${runId}, event ${seq}: ${event} cannot happen in state ${from}. The journal was damaged or written by another program; restore it from a copy.`,
    );
  }
}

/** The run's account or service differs from that of the client that is resuming the run. */
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
