import { BoundedMap } from "../bounded-map.ts";

/**
 * Which events were handled. `add` is called after the handler succeeded, so an event is handled at least once, and a
 * repetition of a handled one is only acknowledged.
 */
export interface SeenEvents {
  has(id: string): boolean | Promise<boolean>;
  add(id: string): void | Promise<void>;
}

/** Remembers the newest ids in this process only: enough where handling twice does no harm. Default 100 000. */
export function seenInMemory(capacity = 100_000): SeenEvents {
  const ids = new BoundedMap<string, true>(capacity);
  return { has: (id) => ids.has(id), add: (id) => void ids.set(id, true) };
}

/** Remembers ids in a SQLite file across restarts and among processes; older than `keepMs` are forgotten. Default 30 days. */
export function seenInFile(path: string, keepMs = 30 * 86_400_000): SeenEvents & { close(): void } {
  // Loaded only here: the module still warns on Node 22, and a client that needs no file should not hear it.
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000");
  database.exec(
    "CREATE TABLE IF NOT EXISTS seen_events (id TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  );
  database.prepare("DELETE FROM seen_events WHERE at < ?").run(Date.now() - keepMs);
  const find = database.prepare("SELECT 1 FROM seen_events WHERE id = ?");
  const insert = database.prepare("INSERT OR IGNORE INTO seen_events (id, at) VALUES (?, ?)");
  return {
    has: (id) => find.get(id) !== undefined,
    add: (id) => void insert.run(id, Date.now()),
    close: () => database.close(),
  };
}
