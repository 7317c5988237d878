import type { DatabaseSync } from "node:sqlite";
import { isPostgresUrl } from "../kit/journal-location.ts";
import type { DatabaseFacts } from "./postgres/describe.ts";
import type { PostgresJournalOptions } from "./postgres/settings.ts";
import { Database } from "./sqlite/database.ts";
import { loadSqlite } from "./sqlite/load.ts";
import { prepareSchema } from "./sqlite/migrate.ts";
import { Writer } from "./sqlite/writer.ts";
import { openSqliteJournal, SqliteJournal } from "./sqlite.ts";
import type { JournalStore } from "./store.ts";

/**
 * Opens the journal at a path, or in the database of a `postgres://` URL, which needs the package `pg`; `options` are for
 * the latter only.
 */
export async function openJournal(location: string, options: PostgresJournalOptions = {}): Promise<JournalStore> {
  if (!isPostgresUrl(location)) return openSqliteJournal(location);
  const { openPostgresJournal } = await import("./postgres.ts");
  return openPostgresJournal(location, options);
}

/** What answers under a `postgres://` URL; its tables are not looked at. */
export async function describeDatabase(location: string): Promise<DatabaseFacts> {
  const { describe } = await import("./postgres/describe.ts");
  return describe(location);
}

const path = "memory";

/** An empty journal: to copy it costs a tenth of laying out its tables. */
let empty: Uint8Array | undefined;

function openEmpty(): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const raw = new DatabaseSync(":memory:");
  if (empty !== undefined) raw.deserialize(empty);
  prepareSchema(raw, path);
  // Node 22 cannot copy it.
  empty ??= raw.serialize?.();
  return raw;
}

/**
 * A journal in this process's memory, for tests and for runs that nobody will resume: it ends with the process. `now`
 * (default `Date.now`) only decides when old upload handles go.
 */
export function createMemoryJournal({ now = Date.now }: { readonly now?: () => number } = {}): JournalStore {
  const raw = openEmpty();
  const db = new Database(raw, path);
  const writer = new Writer(db, { busyTimeoutMs: 0, path }, () => {});
  return new SqliteJournal(db, writer, { busyTimeoutMs: 0, pollIntervalMs: 50, now });
}
