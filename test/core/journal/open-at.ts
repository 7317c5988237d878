import { callersClock } from "../../../src/core/journal/postgres/leases.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import { isPostgresUrl } from "../../../src/core/kit/journal-location.ts";

/** Opens a journal of any kind for a test that controls the time. */
export function openAt(location: string): Promise<JournalStore> {
  if (isPostgresUrl(location)) return openPostgresJournal(location, { pollIntervalMs: 50 }, callersClock());
  return openSqliteJournal(location, { pollIntervalMs: 5 });
}
