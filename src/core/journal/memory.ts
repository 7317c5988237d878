import type { DatabaseSync } from "node:sqlite";
import { Database } from "./sqlite/database.ts";
import { loadSqlite } from "./sqlite/load.ts";
import { prepareSchema } from "./sqlite/migrate.ts";
import { Writer } from "./sqlite/writer.ts";
import { SqliteJournal } from "./sqlite.ts";
import type { JournalStore } from "./store.ts";

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
