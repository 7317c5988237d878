import type { DatabaseSync } from "node:sqlite";
import type { LogLevel } from "../store/rows.ts";
import { command, insertSql, query } from "../store/statement.ts";
import type { DrainState } from "./state.ts";

/** What a person sets of a drain. */
export interface DrainSettings {
  readonly name: string;
  readonly url: string;
  readonly format: "ndjson" | "otlp";
  readonly secret: string | null;
  /** JSON object; the values are secrets. */
  readonly headers: string;
  readonly batchSize: number;
  readonly updatedAt: number;
  readonly updatedByKeyId: string;
}

export interface DrainRow extends DrainSettings, DrainState {
  readonly seq: number;
  readonly drainId: string;
  readonly workspaceId: string;
  readonly createdAt: number;
}

/** A lifecycle event on its way to the drains of a workspace. */
export interface DrainEventRow {
  readonly seq: number;
  readonly workspaceId: string;
  readonly jobId: string;
  readonly model: string;
  readonly at: number;
  readonly level: LogLevel;
  readonly event: string;
  readonly message: string;
  readonly source: string;
  /** JSON object. */
  readonly data: string;
}

/** Names an event to whoever collects it: the same in every batch that holds it, and unique in the service. */
export function logIdOf({ seq }: Pick<DrainEventRow, "seq">): string {
  return `log_${seq}`;
}

const TABLES = `
CREATE TABLE IF NOT EXISTS drains (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, drainId TEXT NOT NULL UNIQUE, workspaceId TEXT NOT NULL,
  createdAt INTEGER NOT NULL, name TEXT NOT NULL, url TEXT NOT NULL, format TEXT NOT NULL, secret TEXT,
  headers TEXT NOT NULL, batchSize INTEGER NOT NULL, updatedAt INTEGER NOT NULL, updatedByKeyId TEXT NOT NULL,
  enabled INTEGER NOT NULL, consecutiveFailures INTEGER NOT NULL, lastSuccessAt INTEGER, lastFailureAt INTEGER,
  lastFailureStatus INTEGER, lastError TEXT, disabledReason TEXT, position INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS drainsByWorkspace ON drains (workspaceId, seq);
CREATE TABLE IF NOT EXISTS drainEvents (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, workspaceId TEXT NOT NULL, jobId TEXT NOT NULL, model TEXT NOT NULL,
  at INTEGER NOT NULL, level TEXT NOT NULL, event TEXT NOT NULL, message TEXT NOT NULL,
  source TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS drainEventsByWorkspace ON drainEvents (workspaceId, seq);
`;

const SETTINGS = [
  "name",
  "url",
  "format",
  "secret",
  "headers",
  "batchSize",
  "updatedAt",
  "updatedByKeyId",
] as const satisfies readonly (keyof DrainSettings)[];

const STATE = [
  "enabled",
  "consecutiveFailures",
  "lastSuccessAt",
  "lastFailureAt",
  "lastFailureStatus",
  "lastError",
  "disabledReason",
  "position",
] as const satisfies readonly (keyof DrainState)[];

const COLUMNS = ["drainId", "workspaceId", "createdAt", ...SETTINGS, ...STATE] as const;
const EVENT_COLUMNS = [
  "workspaceId",
  "jobId",
  "model",
  "at",
  "level",
  "event",
  "message",
  "source",
  "data",
] as const satisfies readonly (keyof DrainEventRow)[];

const assignments = (columns: readonly string[]) => columns.map((column) => `${column} = ?`).join(", ");

/** Drains, and the events that wait for them; made when they are not there yet. */
export function drainTables(database: DatabaseSync) {
  database.exec(TABLES);
  const insert = command(database, insertSql("drains", COLUMNS));
  const updateSettings = command(database, `UPDATE drains SET ${assignments(SETTINGS)} WHERE seq = ?`);
  const updateState = command(database, `UPDATE drains SET ${assignments(STATE)} WHERE seq = ?`);
  const remove = command(database, "DELETE FROM drains WHERE seq = ?");
  const bySeq = query<DrainRow>(database, "SELECT * FROM drains WHERE seq = ?");
  const byId = query<DrainRow>(database, "SELECT * FROM drains WHERE workspaceId = ? AND drainId = ?");
  const all = query<DrainRow>(database, "SELECT * FROM drains ORDER BY seq");
  const ofWorkspace = query<DrainRow>(database, "SELECT * FROM drains WHERE workspaceId = ? ORDER BY seq");
  const page = query<DrainRow>(
    database,
    "SELECT * FROM drains WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
  );
  const addEvent = command(database, insertSql("drainEvents", EVENT_COLUMNS));
  const events = query<DrainEventRow>(
    database,
    "SELECT * FROM drainEvents WHERE workspaceId = ? AND seq > ? ORDER BY seq LIMIT ?",
  );
  const lastEvent = query<{ seq: number }>(database, "SELECT seq FROM sqlite_sequence WHERE name = 'drainEvents'");
  const newest = query<{ seq: number }>(
    database,
    "SELECT seq FROM drainEvents WHERE workspaceId = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
  );
  const dropTo = command(database, "DELETE FROM drainEvents WHERE workspaceId = ? AND seq <= ?");
  const dropBefore = command(database, "DELETE FROM drainEvents WHERE workspaceId = ? AND at < ?");

  return {
    insert: (row: Omit<DrainRow, "seq">) => insert(...COLUMNS.map((column) => row[column])).lastId,
    updateSettings: (row: DrainRow) => updateSettings(...SETTINGS.map((column) => row[column]), row.seq),
    updateState: (row: DrainRow) => updateState(...STATE.map((column) => row[column]), row.seq),
    remove: (seq: number) => remove(seq),
    bySeq: (seq: number) => bySeq.get(seq),
    byId: (workspaceId: string, drainId: string) => byId.get(workspaceId, drainId),
    all: () => all.all(),
    ofWorkspace: (workspaceId: string) => ofWorkspace.all(workspaceId),
    /** Newest first, below `before`. */
    page: (workspaceId: string, before: number, limit: number) => page.all(workspaceId, before, limit),
    addEvent: (row: Omit<DrainEventRow, "seq">) => addEvent(...EVENT_COLUMNS.map((column) => row[column])),
    /** Oldest first, after a position. */
    events: (workspaceId: string, position: number, limit: number) => events.all(workspaceId, position, limit),
    /** The position after which everything is new. */
    present: () => lastEvent.get()?.seq ?? 0,
    /** Forgets what every drain of the workspace has, what is too old, and what is beyond the newest `keep`. */
    prune(workspaceId: string, takenByAll: number, olderThan: number, keep: number): void {
      const tooMany = newest.get(workspaceId, keep)?.seq ?? 0;
      dropTo(workspaceId, Math.max(takenByAll, tooMany));
      dropBefore(workspaceId, olderThan);
    },
  };
}

export type DrainTables = ReturnType<typeof drainTables>;
