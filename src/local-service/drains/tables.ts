import type { FailureCode } from "../outbound/outbound.ts";
import type { Statements } from "../store/database.ts";
import type { EventRow } from "../store/rows.ts";

export const MAX_FAILURES = 5;

/** State of a drain's deliveries. Times are epoch milliseconds on the service's clock. */
export interface DrainState {
  readonly enabled: number;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  readonly lastFailureStatus: number | null;
  readonly lastError: FailureCode | null;
  readonly disabledReason: "consecutive_failures" | "disabled_by_user" | null;
  readonly position: number;
}

const BY_USER = "disabled_by_user";

export function newDrain(enabled: boolean, position: number): DrainState {
  return {
    enabled: enabled ? 1 : 0,
    consecutiveFailures: 0,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailureStatus: null,
    lastError: null,
    disabledReason: enabled ? null : BY_USER,
    position,
  };
}

export function shipped<D extends DrainState>(drain: D, position: number, now: number): D {
  return { ...drain, consecutiveFailures: 0, lastSuccessAt: now, position: Math.max(drain.position, position) };
}

/** Records a failed delivery. The events of the batch stay pending and are sent again. */
export function failed<D extends DrainState>(drain: D, error: FailureCode, status: number | null, now: number): D {
  const consecutiveFailures = drain.consecutiveFailures + 1;
  const noted = { ...drain, consecutiveFailures, lastFailureAt: now, lastFailureStatus: status, lastError: error };
  const isOver = drain.enabled === 1 && consecutiveFailures >= MAX_FAILURES;
  return isOver ? { ...noted, enabled: 0, disabledReason: "consecutive_failures" } : noted;
}

export function switched<D extends DrainState>(drain: D, on: boolean): D {
  const count = on ? 0 : drain.consecutiveFailures;
  const disabledReason = on ? null : BY_USER;
  return { ...drain, enabled: on ? 1 : 0, disabledReason, consecutiveFailures: count };
}

export interface DrainRow extends DrainState {
  readonly seq: number;
  readonly drainId: string;
  readonly workspaceId: string;
  readonly createdAt: number;
  readonly name: string;
  readonly url: string;
  readonly format: "ndjson" | "otlp";
  readonly secret: string | null;
  /** Headers as a JSON object whose values are secrets. */
  readonly headers: string;
  readonly batchSize: number;
  readonly updatedAt: number;
  readonly updatedByKeyId: string;
}

/** An event that at least one drain in the workspace has not received yet. */
export interface DrainEventRow extends Omit<EventRow, "jobSeq" | "id" | "event"> {
  readonly seq: number;
  readonly workspaceId: string;
  readonly jobId: string;
  readonly model: string;
  readonly event: string;
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

const PAGE = "SELECT * FROM drains WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
const EVENTS = "SELECT * FROM drainEvents WHERE workspaceId = ? AND seq > ? ORDER BY seq LIMIT ?";
const NEWEST = "SELECT seq FROM drainEvents WHERE workspaceId = ? ORDER BY seq DESC LIMIT 1 OFFSET ?";

export function drainTables(db: Statements) {
  db.define(TABLES);
  return {
    insert: (row: Omit<DrainRow, "seq">) => db.insert("drains", row),
    update: (row: DrainRow) => db.update("drains", row),
    remove: (seq: number) => db.run("DELETE FROM drains WHERE seq = ?", seq),
    bySeq: (seq: number) => db.get<DrainRow>("SELECT * FROM drains WHERE seq = ?", seq),
    byId: (workspaceId: string, drainId: string) =>
      db.get<DrainRow>("SELECT * FROM drains WHERE workspaceId = ? AND drainId = ?", workspaceId, drainId),
    all: () => db.all<DrainRow>("SELECT * FROM drains ORDER BY seq"),
    ofWorkspace: (workspaceId: string) =>
      db.all<DrainRow>("SELECT * FROM drains WHERE workspaceId = ? ORDER BY seq", workspaceId),
    page: (workspaceId: string, before: number, limit: number) => db.all<DrainRow>(PAGE, workspaceId, before, limit),
    addEvent: (row: Omit<DrainEventRow, "seq">) => db.insert("drainEvents", row),
    events: (workspaceId: string, position: number, limit: number) =>
      db.all<DrainEventRow>(EVENTS, workspaceId, position, limit),
    present: () => db.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'drainEvents'")?.seq ?? 0,
    prune(workspaceId: string, deliveredToAll: number, olderThan: number, most: number): void {
      const tooMany = db.get<{ seq: number }>(NEWEST, workspaceId, most)?.seq ?? 0;
      const newest = Math.max(deliveredToAll, tooMany);
      db.run("DELETE FROM drainEvents WHERE workspaceId = ? AND seq <= ?", workspaceId, newest);
      db.run("DELETE FROM drainEvents WHERE workspaceId = ? AND at < ?", workspaceId, olderThan);
    },
  };
}

export type DrainTables = ReturnType<typeof drainTables>;
