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

export class JournalCorruptError extends JournalFileError {
  readonly code = "JOURNAL_CORRUPT";
}

export class JournalNewerVersionError extends JournalFileError {
  readonly code = "JOURNAL_NEWER_VERSION";
}

export class JournalReadOnlyError extends JournalFileError {
  readonly code = "JOURNAL_READ_ONLY";
}

export class JournalFolderError extends JournalFileError {
  readonly code = "JOURNAL_FOLDER";
}

export class JournalDiskFullError extends JournalFileError {
  readonly code = "JOURNAL_DISK_FULL";
}

export class JournalIoError extends JournalFileError {
  readonly code = "JOURNAL_IO";
}

export class JournalBusyError extends JournalFileError {
  readonly code = "JOURNAL_BUSY";
}

/** The journal's database refuses the login, or the user lacks a permission. */
export class JournalAccessError extends JournalFileError {
  readonly code = "JOURNAL_ACCESS";
}

export class JournalDriverMissingError extends JournalFileError {
  readonly code = "JOURNAL_DRIVER_MISSING";
  readonly next = "npm install pg";
}

export class JournalUnreachableError extends JournalFileError {
  readonly code = "JOURNAL_UNREACHABLE";
}

export class JournalClosedError extends JournalFileError {
  readonly code = "JOURNAL_CLOSED";
}

/** The calling code passed invalid data. Nothing was written. */
export class JournalRecordError extends ShowrunnerError {
  readonly code = "JOURNAL_RECORD_INVALID";
}

export class RunExistsError extends ShowrunnerError {
  readonly code = "RUN_EXISTS";
  readonly runId: string;

  constructor(runId: string) {
    super(`Run "${runId}" already exists in this journal. Resume the run, or choose another id.`);
    this.runId = runId;
  }
}

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
