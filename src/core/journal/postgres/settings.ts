import { isPostgresUrl, shownJournal } from "../../kit/journal-location.ts";
import { JournalAccessError } from "../errors.ts";

export interface PostgresJournalOptions {
  /** Schema of the journal's tables in the database; default `schema` of the URL, else `showrunner`. */
  readonly schema?: string | undefined;
  /** Most connections of this process, one for notifications left out; default `pool` of the URL, else 8. */
  readonly poolSize?: number;
  /** How long a connection may take to be made, in milliseconds; default 10,000. */
  readonly connectTimeoutMs?: number;
  /** How long a statement may take, in milliseconds; default 30,000. */
  readonly statementTimeoutMs?: number;
  /** How long a statement may wait for rows that another process holds, in milliseconds; default 15,000. */
  readonly lockTimeoutMs?: number;
  /** How long a connection that nobody needs is kept, in milliseconds; default 30,000. */
  readonly idleTimeoutMs?: number;
  /** How long a call continues while the database cannot be reached, in milliseconds; default 30,000. */
  readonly unreachableTimeoutMs?: number;
  /** How often waiting calls look for what others wrote where no notification came, in milliseconds; default 1,000. */
  readonly pollIntervalMs?: number;
  /** Decides when old upload handles go, and is the clock that instants are answered by; epoch milliseconds, default `Date.now`. */
  readonly now?: () => number;
}

export interface Settings extends Required<PostgresJournalOptions> {
  readonly schema: string;
  /** For the driver only: it holds the password. */
  readonly connectionString: string;
  /** The URL as messages name it: without password and parameters. */
  readonly place: string;
}

const defaults = {
  schema: "showrunner",
  poolSize: 8,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 30_000,
  lockTimeoutMs: 15_000,
  idleTimeoutMs: 30_000,
  unreachableTimeoutMs: 30_000,
  pollIntervalMs: 1_000,
  now: Date.now,
};

export function readSettings(location: string, options: PostgresJournalOptions): Settings {
  const url = URL.parse(location);
  // The text is not repeated: it may hold a password.
  if (url === null || !isPostgresUrl(location)) throw invalid("the journal", "is no valid postgres:// URL");
  const place = shownJournal(location);
  const fromUrl = { schema: url.searchParams.get("schema"), pool: url.searchParams.get("pool") };
  for (const name of Object.keys(fromUrl)) url.searchParams.delete(name);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: Settings = {
    ...defaults,
    ...(fromUrl.schema !== null && { schema: fromUrl.schema }),
    ...(fromUrl.pool !== null && { poolSize: Number(fromUrl.pool) }),
    ...given,
    connectionString: url.href,
    place,
  };
  check(settings);
  return settings;
}

function check({ place, schema, poolSize, ...rest }: Settings): void {
  // Longer ones are cut by the server, and two could become one.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalid(
      place,
      `has the schema ${JSON.stringify(schema.slice(0, 80))}: at most 63 lower-case letters, digits and _, no digit first`,
    );
  }
  if (/^pg_/.test(schema)) throw invalid(place, `has the schema ${schema}: names with pg_ are the server's own`);
  if (!Number.isSafeInteger(poolSize) || poolSize < 1 || poolSize > 1_000) {
    throw invalid(place, "has a pool that is no whole number from 1 to 1000");
  }
  for (const [name, value] of Object.entries(rest)) {
    if (typeof value !== "number" || (Number.isFinite(value) && value > 0)) continue;
    throw invalid(place, `has ${name} ${value}: a number of milliseconds above 0 is needed`);
  }
}

function invalid(place: string, what: string): JournalAccessError {
  return new JournalAccessError(
    place,
    `${place} ${what}. A journal on PostgreSQL is named like this: postgres://user:password@host:5432/database?schema=showrunner&pool=4`,
  );
}
