import { callersClock } from "../../src/journal/postgres/clock.ts";
import { openPostgresJournal } from "../../src/journal/postgres.ts";
import { openSqliteJournal } from "../../src/journal/sqlite.ts";
import type { JournalStore } from "../../src/journal/store.ts";
import { isPostgresUrl } from "../../src/journal-location.ts";

/** Opens a journal for a test that holds the time by hand, in whatever it lies. */
export function openAt(location: string): Promise<JournalStore> {
  if (isPostgresUrl(location)) return openPostgresJournal(location, { pollIntervalMs: 50 }, callersClock());
  return openSqliteJournal(location, { pollIntervalMs: 5 });
}
