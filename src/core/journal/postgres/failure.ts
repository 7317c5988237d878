import { isShowrunnerError } from "../../kit/errors.ts";
import {
  JournalAccessError,
  JournalBusyError,
  JournalDiskFullError,
  JournalIoError,
  JournalNewerVersionError,
  JournalNotDatabaseError,
  JournalReadOnlyError,
  JournalRecordError,
  JournalUnreachableError,
} from "../errors.ts";

// Codes are SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) and Node's names of failed system calls.

/** The connection is gone, or none could be made just now; whether the statement was carried out is not known. */
export function isLost(error: unknown): boolean {
  const { code, message } = partsOf(error);
  if (/^(08|57P0)/.test(code) || ["53300", "25P03"].includes(code))
    return !/unsupported startup parameter/.test(message);
  if (/^E(CONN|PIPE|TIMEDOUT|HOST|NET|AI_AGAIN|NOTFOUND)/.test(code)) return true;
  return code === "" && lostMessages.test(message);
}

/** The driver has no codes for these. */
const lostMessages =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout exceeded when trying to connect|Cannot use a pool after)/;

/** Two transactions were in each other's way, and this one was undone as a whole: try again. */
export function isConflict(error: unknown): boolean {
  return ["40001", "40P01"].includes(partsOf(error).code);
}

/** The typed error of a definite failure, in plain words; anything else comes back as it is. */
export function journalFailure(error: unknown, place: string): unknown {
  if (isShowrunnerError(error)) return error;
  const { code, message } = partsOf(error);
  const cause = { cause: error };
  const access = (text: string) => new JournalAccessError(place, `${text} Nothing was changed.`, cause);
  switch (code) {
    case "28P01":
    case "28000":
      return access(
        `The database of the journal ${place} refused the login (${message}). Check user and password in its URL, or PGPASSWORD.`,
      );
    case "3D000":
      return access(
        `The server has no database for the journal ${place} (${message}). Create it (createdb), or correct the name in the URL.`,
      );
    case "42501":
    case "3F000":
      return access(
        `The user of the journal ${place} may not do what a journal needs (${message}). Let it create its own schema: GRANT CREATE ON DATABASE … TO its role, or CREATE SCHEMA … AUTHORIZATION it.`,
      );
    case "0A000":
    case "42P01":
    case "42883":
    case "42703":
      return new JournalNotDatabaseError(
        place,
        `The tables or functions of the journal ${place} are not those that this Showrunner knows (${message}): a newer one lifted them while it was open, or somebody changed them. Open it with the newest Showrunner, or restore it from a copy.`,
        cause,
      );
    case "SR001":
      return new JournalNewerVersionError(
        place,
        `The journal ${place} was lifted to another version by another Showrunner while it was open; nothing was written. Use that version from now on.`,
        cause,
      );
    case "25006":
      return new JournalReadOnlyError(
        place,
        `The database of the journal ${place} takes no writes (${message}): it may be a standby. Name the primary in the URL.`,
        cause,
      );
    case "53100":
      return new JournalDiskFullError(
        place,
        `No space is left on the disk of the journal ${place}; nothing was committed. Free some space, then resume.`,
        cause,
      );
    case "55P03":
    case "57014":
      return new JournalBusyError(
        place,
        `The journal ${place} did not answer in time (${message}); nothing was committed. Look for a transaction that was left open on it (pg_stat_activity), then try again.`,
        cause,
      );
    case "54000":
    case "22021":
    case "22P05":
      return new JournalRecordError(
        `The journal ${place} cannot hold a name of this commit (${message}); nothing was written. Shorten it, and leave out characters of code 0.`,
        cause,
      );
    case "":
      return /SSL|TLS|certificate/i.test(message) ? noTls(place, message, error) : error;
    default:
      if (/CERT|TLS|SSL/.test(code)) return noTls(place, message, error);
      if (/^[0-9A-Z]{5}$/.test(code)) {
        return new JournalIoError(
          place,
          `The database of the journal ${place} failed (${code}: ${message}); nothing was committed. Look into its log, then resume.`,
          cause,
        );
      }
      return error;
  }
}

/** What became of a call while the database was away is in the journal; whoever asks again finds out. */
export function unreachable(place: string, forMs: number, error: unknown): JournalUnreachableError {
  const { code, message } = partsOf(error);
  const tooMany = code === "53300" ? " Raise max_connections, put pgbouncer in front, or lower pool= in the URL." : "";
  const name = code === "ENOTFOUND" || code === "EAI_AGAIN" ? " No such host: check the name in the URL." : "";
  return new JournalUnreachableError(
    place,
    `The database of the journal ${place} could not be reached for ${Math.round(forMs / 1_000)} s (${message || code}).${tooMany}${name} See to it, then resume: what was committed is in the journal.`,
    { cause: error },
  );
}

function noTls(place: string, message: string, cause: unknown): JournalAccessError {
  return new JournalAccessError(
    place,
    `No encrypted connection to the database of the journal ${place} could be made (${message}). Set sslmode= in its URL to what the server offers; sslrootcert=FILE names its authority.`,
    { cause },
  );
}

function partsOf(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const inner = error instanceof AggregateError ? error.errors.at(-1) : undefined;
  const { code } = (inner ?? error) as { readonly code?: unknown };
  const message = error.message === "" && inner instanceof Error ? inner.message : error.message;
  return { code: typeof code === "string" ? code : "", message };
}
