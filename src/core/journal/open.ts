import type { DatabaseSync } from "node:sqlite";
import { isPostgresUrl } from "../kit/journal-location.ts";
import type { DatabaseFacts } from "./postgres/database.ts";
import type { PostgresJournalOptions } from "./postgres/settings.ts";
import { Database, loadSqlite } from "./sqlite/database.ts";
import { prepareSchema } from "./sqlite/migrate.ts";
import { Writer } from "./sqlite/writer.ts";
import { openSqliteJournal, SqliteJournal } from "./sqlite.ts";
import type { JournalStore } from "./store.ts";

/** Opens the journal at a path or `postgres://` URL. `options` apply only to a URL. */
export async function openJournal(location: string, options: PostgresJournalOptions = {}): Promise<JournalStore> {
  if (!isPostgresUrl(location)) return openSqliteJournal(location);
  const { openPostgresJournal } = await import("./postgres.ts");
  return openPostgresJournal(location, options);
}

export async function describeDatabase(location: string): Promise<DatabaseFacts> {
  const { describe } = await import("./postgres/database.ts");
  return describe(location);
}

const path = "memory";

/** A serialized empty journal. Copying it is ten times faster than creating the tables. */
let empty: Uint8Array | undefined;

function openEmpty(): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const raw = new DatabaseSync(":memory:");
  if (empty !== undefined) raw.deserialize(empty);
  prepareSchema(raw, path);
  // Node 22 has no `serialize`.
  empty ??= raw.serialize?.();
  return raw;
}

/**
 * Creates a journal in memory, for tests and for runs that nobody will resume.
 * `now` (default `Date.now`) only decides when upload handles expire.
 */
export function createMemoryJournal({ now = Date.now }: { readonly now?: () => number } = {}): JournalStore {
  const raw = openEmpty();
  const db = new Database(raw, path);
  const writer = new Writer(db, { busyTimeoutMs: 0, path }, () => {});
  return new SqliteJournal(db, writer, { busyTimeoutMs: 0, pollIntervalMs: 50, now });
}
