import { setTimeout as delay } from "node:timers/promises";
import type { Client, ClientBase, ClientConfig, Pool } from "pg";
import { isShowrunnerError } from "../../kit/errors.ts";
import { type Columns, columnsOf, type Row } from "../columns.ts";
import {
  JournalAccessError,
  JournalBusyError,
  JournalClosedError,
  JournalDiskFullError,
  JournalDriverMissingError,
  JournalIoError,
  JournalNewerVersionError,
  JournalNotDatabaseError,
  JournalReadOnlyError,
  JournalRecordError,
  JournalUnreachableError,
} from "../errors.ts";
import { readSettings, type Settings } from "./settings.ts";

export type Driver = Pick<typeof import("pg"), "Client" | "Pool" | "types">;

export type Values = readonly unknown[];

/** A pool of database connections. A statement may run twice if the connection is lost. */
export class Database {
  readonly settings: Settings;
  readonly columns: Columns;
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
    // An idle connection that breaks leaves the pool and is replaced on demand.
    this.#pool.on("error", () => {});
  }

  newClient(): Client {
    return new this.#driver.Client(this.#connection());
  }

  #connection(): ClientConfig {
    const { connectionString, connectTimeoutMs, statementTimeoutMs } = this.settings;
    return {
      connectionString,
      application_name: "showrunner",
      connectionTimeoutMillis: connectTimeoutMs,
      // Applies only if the server does not respond at all. Otherwise, the server ends the statement itself.
      query_timeout: statementTimeoutMs + 5_000,
      keepAlive: true,
      types: {
        getTypeParser: (oid, format) => (oid === INT8 ? Number : this.#driver.types.getTypeParser(oid, format)),
      },
    };
  }

  text(sql: string): string {
    let text = this.#texts.get(sql);
    if (text === undefined) {
      text = sql.replaceAll("{s}", `"${this.settings.schema}"`);
      this.#texts.set(sql, text);
    }
    return text;
  }

  /**
   * Runs a statement, and retries it if the connection is lost. If `values` is a function, it is called with true for a
   * retry.
   */
  query(sql: string, values: Values | ((repeated: boolean) => Values) = []): Promise<Row[]> {
    return this.#retried(async (repeated) => {
      const given = typeof values === "function" ? values(repeated) : values;
      const { rows } = await this.#pool.query(this.text(sql), [...given]);
      return rows as Row[];
    });
  }

  transaction(statements: (query: (sql: string, values?: Values) => Promise<Row[]>) => Promise<void>): Promise<void> {
    return this.#retried(async () => {
      const client = await this.#pool.connect();
      // Ignore the error, because the statement in progress also reports a broken connection.
      client.on("error", () => {});
      try {
        await client.query("BEGIN");
        await statements(async (sql, values = []) => (await client.query(this.text(sql), [...values])).rows as Row[]);
        await client.query("COMMIT");
        client.release();
      } catch (error) {
        client.release(true);
        throw error;
      }
    });
  }

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

  /** Lets later calls wait longer for an unavailable database, because the URL is now known to be right. */
  noteOpened(): void {
    this.#waitMs = this.settings.unreachableTimeoutMs;
  }

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

  /** Sets the time limits of a connection, except behind a pooler, which shares its connections between clients. */
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
const openingMs = 5_000;

/** Returns true if the connection goes through a pooler, whose process ids differ from the server's. */
export async function isPooled(client: Pick<ClientBase, "query">): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  return rows[0].pid !== (client as { readonly processID?: unknown }).processID;
}

export function closedError(place: string): JournalClosedError {
  return new JournalClosedError(place, `The journal ${place} was closed. Open it again.`);
}

// The codes are SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) and Node's system error names.

function isLost(error: unknown): boolean {
  const { code, message } = partsOf(error);
  if (/^(08|57P0)/.test(code) || ["53300", "25P03"].includes(code))
    return !/unsupported startup parameter/.test(message);
  if (/^E(CONN|PIPE|TIMEDOUT|HOST|NET|AI_AGAIN|NOTFOUND)/.test(code)) return true;
  return code === "" && lostMessages.test(message);
}

const lostMessages =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout exceeded when trying to connect|Cannot use a pool after)/;

function isConflict(error: unknown): boolean {
  return ["40001", "40P01"].includes(partsOf(error).code);
}

function journalFailure(error: unknown, place: string): unknown {
  if (isShowrunnerError(error)) return error;
  const { code, message } = partsOf(error);
  const cause = { cause: error };
  const access = (text: string) => new JournalAccessError(place, `${text} Nothing was changed.`, cause);
  switch (code) {
    case "28P01":
    case "28000":
      return access(
        `The database of the journal ${place} refused the login (${message}). Check the user and password in the journal's URL, or PGPASSWORD.`,
      );
    case "3D000":
      return access(
        `The server has no database for the journal ${place} (${message}). Create the database (createdb), or correct the name in the URL.`,
      );
    case "42501":
    case "3F000":
      return access(
        `The user of the journal ${place} lacks a permission that a journal needs (${message}). Allow the user to create a schema: GRANT CREATE ON DATABASE … TO USER, or CREATE SCHEMA … AUTHORIZATION USER.`,
      );
    case "0A000":
    case "42P01":
    case "42883":
    case "42703":
      return new JournalNotDatabaseError(
        place,
        `The tables or functions of the journal ${place} are not the expected ones (${message}): a newer Showrunner migrated them while the journal was open, or somebody changed them. Open the journal with the newest Showrunner, or restore it from a copy.`,
        cause,
      );
    case "SR001":
      return new JournalNewerVersionError(
        place,
        `The journal ${place} was migrated by another version of Showrunner while it was open; nothing was written. Use that version from now on.`,
        cause,
      );
    case "25006":
      return new JournalReadOnlyError(
        place,
        `The database of the journal ${place} does not accept writes (${message}): it may be a standby. Use the URL of the primary.`,
        cause,
      );
    case "53100":
      return new JournalDiskFullError(
        place,
        `The disk that holds the journal ${place} is full; nothing was committed. Free some space, then resume.`,
        cause,
      );
    case "55P03":
    case "57014":
      return new JournalBusyError(
        place,
        `The journal ${place} did not answer in time (${message}); nothing was committed. Look for a transaction left open (pg_stat_activity), then try again.`,
        cause,
      );
    case "54000":
    case "22021":
    case "22P05":
      return new JournalRecordError(
        `The journal ${place} cannot store a name that is too long or contains NUL characters (${message}); nothing was written. Shorten the name, or remove the NUL characters.`,
        cause,
      );
    case "":
      return /SSL|TLS|certificate/i.test(message) ? noTls(place, message, error) : error;
    default:
      if (/CERT|TLS|SSL/.test(code)) return noTls(place, message, error);
      if (/^[0-9A-Z]{5}$/.test(code)) {
        return new JournalIoError(
          place,
          `The database returned an error for the journal ${place} (${code}: ${message}); nothing was committed. Check the database server's log, then resume.`,
          cause,
        );
      }
      return error;
  }
}

function unreachable(place: string, forMs: number, error: unknown): JournalUnreachableError {
  const { code, message } = partsOf(error);
  const tooMany =
    code === "53300" ? " Raise max_connections, put pgbouncer in front of the server, or lower pool= in the URL." : "";
  const name = code === "ENOTFOUND" || code === "EAI_AGAIN" ? " No such host: check the name in the URL." : "";
  return new JournalUnreachableError(
    place,
    `The database of the journal ${place} could not be reached for ${Math.round(forMs / 1_000)} s (${message || code}).${tooMany}${name} Restore the connection, then resume: everything committed is in the journal.`,
    { cause: error },
  );
}

function noTls(place: string, message: string, cause: unknown): JournalAccessError {
  return new JournalAccessError(
    place,
    `Cannot open an encrypted connection to the database of the journal ${place} (${message}). In the URL, set sslmode to a mode that the server supports, and sslrootcert to the file with the CA certificate that signed the server's certificate.`,
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

export async function loadDriver(place: string): Promise<typeof import("pg")> {
  try {
    return await import("pg");
  } catch (error) {
    throw isMissing(error) ? missing(place, error) : error;
  }
}

function missing(place: string, cause: unknown): JournalDriverMissingError {
  const message = `The journal ${place} is on PostgreSQL, but the driver is not installed. Install it with: npm install pg`;
  return new JournalDriverMissingError(place, message, { cause });
}

function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === "ERR_MODULE_NOT_FOUND" && message.includes("package 'pg'");
}

export interface DatabaseFacts {
  readonly version: string;
  readonly isPooled: boolean;
  readonly roundTripMs: number;
}

export async function describe(location: string): Promise<DatabaseFacts> {
  const settings = readSettings(location, { poolSize: 1 });
  const db = new Database(await loadDriver(settings.place), settings);
  try {
    const [row] = await db.query("SELECT current_setting('server_version') AS version");
    const took: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const startedAt = performance.now();
      await db.query("SELECT 1");
      took.push(performance.now() - startedAt);
    }
    const version = db.columns.text(row!, "version").split(" ")[0]!;
    return { version, isPooled: await db.isPooled(), roundTripMs: Math.min(...took) };
  } finally {
    await db.close();
  }
}
