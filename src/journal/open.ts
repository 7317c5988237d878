import { isPostgresUrl } from "../journal-location.ts";
import { openSqliteJournal } from "./sqlite.ts";
import type { JournalStore } from "./store.ts";

/** Opens the journal at a path, or in the database of a `postgres://` URL, which needs the package `pg`. */
export async function openJournal(location: string): Promise<JournalStore> {
  if (!isPostgresUrl(location)) return openSqliteJournal(location);
  const { openPostgresJournal } = await import("./postgres.ts");
  return openPostgresJournal(location);
}
