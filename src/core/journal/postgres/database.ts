import { setTimeout as delay } from "node:timers/promises";
import type { Client, ClientBase, ClientConfig, Pool } from "pg";
import { isShowrunnerError } from "../../kit/errors.ts";
import { type Columns, columnsOf, type Row } from "../columns.ts";
import {
  JournalAccessError,
  JournalBusyError,
  JournalClosedError,
  JournalDiskFullError,
  JournalIoError,
  JournalNewerVersionError,
  JournalNotDatabaseError,
  JournalReadOnlyError,
  JournalRecordError,
  JournalUnreachableError,
} from "../errors.ts";
import type { Settings } from "./settings.ts";

export type Driver = Pick<typeof import("pg"), "Client" | "Pool" | "types">;

/** What a statement is given. */
export type Values = readonly unknown[];

/**
 * The database behind a pool of connections. Every call is one statement and its own transaction. A call whose connection is
 * lost is made again on another until it succeeds or the time is up, so it has to be one that may be repeated; it learns
 * whether it is, for its first try may have been carried out. Statements have no names: any server behind a pooler knows them.
 */
export class Database {
  readonly settings: Settings;
  readonly columns: Columns;
  /** For messages: the URL without its password. */
  readonly place: string;
  readonly #driver: Driver;
  readonly #pool: Pool;
  readonly #texts = new Map<string, string>();
  #waitMs: number;
  #closed = false;
  #inFlight = 0;
  #idle: (() => void) | null = null;

  constructor(driver: Driver, settings: Settings) {
    this.settings = settings;
    this.place = settings.place;
    this.columns = columnsOf(settings.place);
    this.#driver = driver;
    this.#waitMs = Math.min(openingMs, settings.unreachableTimeoutMs);
    this.#pool = new driver.Pool({
      ...this.#connection(),
      max: settings.poolSize,
      idleTimeoutMillis: settings.idleTimeoutMs,
      onConnect: (client) => this.#limit(client),
    });
    // An idle connection that breaks leaves the pool; who needs one gets a new one.
    this.#pool.on("error", () => {});
  }

  /** A connection of its own, not made yet. */
  newClient(): Client {
    return new this.#driver.Client(this.#connection());
  }

  #connection(): ClientConfig {
    const { connectionString, connectTimeoutMs, statementTimeoutMs } = this.settings;
    return {
      connectionString,
      application_name: "showrunner",
      connectionTimeoutMillis: connectTimeoutMs,
      // For a server that does not answer at all; one that does ends the statement itself.
      query_timeout: statementTimeoutMs + 5_000,
      keepAlive: true,
      types: {
        getTypeParser: (oid, format) => (oid === INT8 ? Number : this.#driver.types.getTypeParser(oid, format)),
      },
    };
  }

  /** The text of a statement, with the schema in it. */
  text(sql: string): string {
    let text = this.#texts.get(sql);
    if (text === undefined) {
      text = sql.replaceAll("{s}", `"${this.settings.schema}"`);
      this.#texts.set(sql, text);
    }
    return text;
  }

  /** `values` is a function where a repeated call says so. */
  query(sql: string, values: Values | ((repeated: boolean) => Values) = []): Promise<Row[]> {
    return this.#retried(async (repeated) => {
      const given = typeof values === "function" ? values(repeated) : values;
      const { rows } = await this.#pool.query(this.text(sql), [...given]);
      return rows as Row[];
    });
  }

  /** Several statements on one connection, in one transaction that is undone when one fails. */
  transaction(statements: (query: (sql: string, values?: Values) => Promise<Row[]>) => Promise<void>): Promise<void> {
    return this.#retried(async () => {
      const client = await this.#pool.connect();
      // What breaks a connection fails its statement as well.
      client.on("error", () => {});
      try {
        await client.query("BEGIN");
        await statements(async (sql, values = []) => (await client.query(this.text(sql), [...values])).rows as Row[]);
        await client.query("COMMIT");
        client.release();
      } catch (error) {
        // The connection goes, and what it had begun with it.
        client.release(true);
        throw error;
      }
    });
  }

  /** Whether a pooler stands before the server. */
  isPooled(): Promise<boolean> {
    return this.#retried(async () => {
      const client = await this.#pool.connect();
      try {
        return await isPooled(client);
      } finally {
        client.release();
      }
    });
  }

  /** From now on a database that is away is waited for; before, the URL may just be wrong. */
  noteOpened(): void {
    this.#waitMs = this.settings.unreachableTimeoutMs;
  }

  /** Makes the call until the database answers it. */
  async #retried<T>(call: (repeated: boolean) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    for (let tries = 0, repeated = false; ; tries += 1) {
      if (this.#closed) throw closedError(this.place);
      try {
        return await this.#counted(() => call(repeated));
      } catch (error) {
        if (!isConflict(error)) {
          if (!isLost(error)) throw journalFailure(error, this.place);
          const waitedMs = performance.now() - startedAt;
          if (waitedMs >= this.#waitMs) throw unreachable(this.place, waitedMs, error);
          repeated = true;
        }
      }
      await delay(Math.min(20 * 2 ** tries, longestDelayMs) * (0.5 + Math.random()));
    }
  }

  /** Lets what was asked for before come to its end; everything later is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    await this.#pool.end();
  }

  async #counted<T>(call: () => Promise<T>): Promise<T> {
    this.#inFlight += 1;
    try {
      return await call();
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#idle?.();
    }
  }

  /** A pooler's connections are not ours to set up: there the server's own limits count, and the driver's. */
  async #limit(client: ClientBase): Promise<void> {
    if (await isPooled(client)) return;
    const { statementTimeoutMs, lockTimeoutMs } = this.settings;
    await client.query(
      `SET statement_timeout = ${statementTimeoutMs}; SET lock_timeout = ${lockTimeoutMs}; SET idle_in_transaction_session_timeout = ${statementTimeoutMs}`,
    );
  }
}

const INT8 = 20;
const longestDelayMs = 1_000;
/** How long a journal that is being opened waits for a database that is just starting. */
const openingMs = 5_000;

/** Whether a pooler such as pgbouncer answers: it names another process than the one that runs the statements. */
export async function isPooled(client: Pick<ClientBase, "query">): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  return rows[0].pid !== (client as { readonly processID?: unknown }).processID;
}

export function closedError(place: string): JournalClosedError {
  return new JournalClosedError(place, `The journal ${place} was closed. Open it again.`);
}

// Codes are SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) and Node's names of failed system calls.

/** The connection is gone, or none could be made just now; whether the statement was carried out is not known. */
function isLost(error: unknown): boolean {
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
function isConflict(error: unknown): boolean {
  return ["40001", "40P01"].includes(partsOf(error).code);
}

/** The typed error of a definite failure, in plain words; anything else comes back as it is. */
function journalFailure(error: unknown, place: string): unknown {
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
function unreachable(place: string, forMs: number, error: unknown): JournalUnreachableError {
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
