import { isPostgresUrl, shownJournal } from "../../kit/journal-location.ts";
import { JournalAccessError } from "../errors.ts";

export interface PostgresJournalOptions {
  /** Schema of the journal's tables. Default: `schema` in the URL, otherwise `showrunner`. */
  readonly schema?: string | undefined;
  /** Maximum number of connections, not counting the one for notifications. Default: `pool` in the URL, otherwise 8. */
  readonly poolSize?: number;
  /** Time limit for connecting, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Time limit for a statement, in milliseconds. Default 30,000. */
  readonly statementTimeoutMs?: number;
  /** Time limit for waiting for rows that another process has locked, in milliseconds. Default 15,000. */
  readonly lockTimeoutMs?: number;
  /** How long an idle connection is kept, in milliseconds. Default 30,000. */
  readonly idleTimeoutMs?: number;
  /** How long a call is retried while the database is unreachable, in milliseconds. Default 30,000. */
  readonly unreachableTimeoutMs?: number;
  /** Interval between polls for other processes' changes if notifications fail, in milliseconds. Default 1,000. */
  readonly pollIntervalMs?: number;
  /** Returns the current time in epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

export interface Settings extends Required<PostgresJournalOptions> {
  readonly schema: string;
  /** The URL with its password. It is passed only to the driver. */
  readonly connectionString: string;
  /** The URL without password and parameters, for messages. */
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
  // The location may contain a password, so the message does not repeat it.
  if (url === null || !isPostgresUrl(location))
    throw invalid("The journal's location", "is not a valid postgres:// URL");
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
  // The server truncates longer names, so two of them could be the same schema.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalid(
      place,
      `has the invalid schema name ${JSON.stringify(schema.slice(0, 80))}; use at most 63 lower-case letters, digits and underscores, not starting with a digit`,
    );
  }
  if (/^pg_/.test(schema))
    throw invalid(place, `has the schema name ${schema}; names that start with pg_ are reserved`);
  if (!Number.isSafeInteger(poolSize) || poolSize < 1 || poolSize > 1_000) {
    throw invalid(place, "has an invalid pool size; use a whole number from 1 to 1000");
  }
  for (const [name, value] of Object.entries(rest)) {
    if (typeof value !== "number" || (Number.isFinite(value) && value > 0)) continue;
    throw invalid(place, `has ${name} set to ${value}; use a positive number of milliseconds`);
  }
}

function invalid(place: string, what: string): JournalAccessError {
  return new JournalAccessError(
    place,
    `${place} ${what}. Write the URL of a PostgreSQL journal like this: postgres://user:password@host:5432/database?schema=showrunner&pool=4`,
  );
}
