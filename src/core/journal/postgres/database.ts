import { setTimeout as delay } from "node:timers/promises";
import type { Client, ClientBase, ClientConfig, Pool } from "pg";
import { type Columns, columnsOf, type Row } from "../columns.ts";
import { JournalClosedError } from "../errors.ts";
import { isConflict, isLost, journalFailure, unreachable } from "./failure.ts";
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
