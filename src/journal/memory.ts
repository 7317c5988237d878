import { Database } from "./sqlite/database.ts";
import { loadSqlite } from "./sqlite/load.ts";
import { prepareSchema } from "./sqlite/migrate.ts";
import { Writer } from "./sqlite/writer.ts";
import { SqliteJournal } from "./sqlite.ts";
import type { JournalStore } from "./store.ts";

const path = "memory";

/**
 * A journal in this process's memory, for tests and for runs that nobody will resume: it ends with the process. `now`
 * (default `Date.now`) only decides when old upload handles go.
 */
export function createMemoryJournal({ now = Date.now }: { readonly now?: () => number } = {}): JournalStore {
  const { DatabaseSync } = loadSqlite();
  const raw = new DatabaseSync(":memory:");
  prepareSchema(raw, path);
  const db = new Database(raw, path);
  const writer = new Writer(db, { busyTimeoutMs: 0, path }, () => {});
  return new SqliteJournal(db, writer, { busyTimeoutMs: 0, pollIntervalMs: 50, now });
}
