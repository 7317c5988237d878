import { isPostgresUrl } from "../kit/journal-location.ts";
import type { DatabaseFacts } from "./postgres/describe.ts";
import type { PostgresJournalOptions } from "./postgres/settings.ts";
import { openSqliteJournal } from "./sqlite.ts";
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
