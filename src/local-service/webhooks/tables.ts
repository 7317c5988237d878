import type { DatabaseSync } from "node:sqlite";
import { command, insertSql, query } from "../store/statement.ts";
import type { DeliveryState, ReplayEntry } from "./delivery.ts";

/** A delivery with what was fixed at the submit. */
export interface DeliveryRow extends DeliveryState {
  readonly seq: number;
  readonly jobSeq: number;
  readonly jobId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly model: string;
  readonly url: string;
  readonly source: "per_job" | "default";
  readonly createdAt: number;
  /** POSTs of the next attempt: 2 when the operator wants a duplicate. */
  readonly copies: number;
}

export interface DefaultWebhookRow {
  readonly workspaceId: string;
  readonly url: string;
  readonly enabled: number;
  readonly updatedAt: number;
  readonly updatedByKeyId: string;
}

const TABLES = `
CREATE TABLE IF NOT EXISTS defaultWebhooks (
  workspaceId TEXT PRIMARY KEY, url TEXT NOT NULL, enabled INTEGER NOT NULL, updatedAt INTEGER NOT NULL,
  updatedByKeyId TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  jobSeq INTEGER NOT NULL UNIQUE, jobId TEXT NOT NULL UNIQUE, workspaceId TEXT NOT NULL, ownerId TEXT NOT NULL,
  model TEXT NOT NULL, url TEXT NOT NULL, source TEXT NOT NULL, createdAt INTEGER NOT NULL,
  copies INTEGER NOT NULL, status TEXT NOT NULL, event TEXT, attempts INTEGER NOT NULL, failedInCycle INTEGER NOT NULL,
  redeliveryCount INTEGER NOT NULL, lastResponseStatus INTEGER, lastError TEXT, lastAttemptAt INTEGER,
  nextAttemptAt INTEGER
);
CREATE INDEX IF NOT EXISTS deliveriesByWorkspace ON deliveries (workspaceId, seq);
CREATE INDEX IF NOT EXISTS deliveriesToSend ON deliveries (seq) WHERE nextAttemptAt IS NOT NULL OR status = 'DELIVERING';
CREATE TABLE IF NOT EXISTS redeliveries (
  deliverySeq INTEGER NOT NULL, number INTEGER NOT NULL, requestedAt INTEGER NOT NULL, status TEXT NOT NULL,
  attempts INTEGER NOT NULL, lastResponseStatus INTEGER, lastError TEXT, lastAttemptAt INTEGER,
  PRIMARY KEY (deliverySeq, number)
) WITHOUT ROWID;
`;

const STATE_COLUMNS = [
  "copies",
  "status",
  "event",
  "attempts",
  "failedInCycle",
  "redeliveryCount",
  "lastResponseStatus",
  "lastError",
  "lastAttemptAt",
  "nextAttemptAt",
] as const satisfies readonly (keyof DeliveryRow)[];

const COLUMNS = [
  "jobSeq",
  "jobId",
  "workspaceId",
  "ownerId",
  "model",
  "url",
  "source",
  "createdAt",
  ...STATE_COLUMNS,
] as const satisfies readonly (keyof DeliveryRow)[];

const REPLAY_COLUMNS = [
  "requestedAt",
  "status",
  "attempts",
  "lastResponseStatus",
  "lastError",
  "lastAttemptAt",
] as const;

/** Default webhooks, deliveries and their replays; made when they are not there yet. */
export function webhookTables(database: DatabaseSync) {
  database.exec(TABLES);
  const getDefault = query<DefaultWebhookRow>(database, "SELECT * FROM defaultWebhooks WHERE workspaceId = ?");
  const setDefault = command(
    database,
    insertSql("defaultWebhooks", ["workspaceId", "url", "enabled", "updatedAt", "updatedByKeyId"], "INSERT OR REPLACE"),
  );
  const dropDefault = command(database, "DELETE FROM defaultWebhooks WHERE workspaceId = ?");
  const insert = command(database, insertSql("deliveries", COLUMNS));
  const assignments = STATE_COLUMNS.map((column) => `${column} = ?`).join(", ");
  const update = command(database, `UPDATE deliveries SET ${assignments} WHERE seq = ?`);
  const bySeq = query<DeliveryRow>(database, "SELECT * FROM deliveries WHERE seq = ?");
  const byJob = query<DeliveryRow>(database, "SELECT * FROM deliveries WHERE jobSeq = ?");
  const byJobId = query<DeliveryRow>(database, "SELECT * FROM deliveries WHERE workspaceId = ? AND jobId = ?");
  const page = query<DeliveryRow>(
    database,
    "SELECT * FROM deliveries WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
  );
  const unsent = query<DeliveryRow>(
    database,
    "SELECT * FROM deliveries WHERE nextAttemptAt IS NOT NULL OR status = 'DELIVERING' ORDER BY seq",
  );
  const addReplay = command(database, insertSql("redeliveries", ["deliverySeq", "number", ...REPLAY_COLUMNS]));
  const replays = query<ReplayEntry>(database, "SELECT * FROM redeliveries WHERE deliverySeq = ? ORDER BY number");

  return {
    defaults: {
      get: (workspaceId: string) => getDefault.get(workspaceId),
      set: (row: DefaultWebhookRow) =>
        setDefault(row.workspaceId, row.url, row.enabled, row.updatedAt, row.updatedByKeyId),
      remove: (workspaceId: string) => dropDefault(workspaceId),
    },
    insert: (row: Omit<DeliveryRow, "seq">) => insert(...COLUMNS.map((column) => row[column])),
    update: (row: DeliveryRow) => update(...STATE_COLUMNS.map((column) => row[column]), row.seq),
    bySeq: (seq: number) => bySeq.get(seq),
    byJob: (jobSeq: number) => byJob.get(jobSeq),
    byJobId: (workspaceId: string, jobId: string) => byJobId.get(workspaceId, jobId),
    /** Newest first, below `before`. */
    page: (workspaceId: string, before: number, limit: number) => page.all(workspaceId, before, limit),
    /** Those with something left to send, and those that a dead process was sending. */
    unsent: () => unsent.all(),
    addReplay: (seq: number, number: number, entry: ReplayEntry) =>
      addReplay(seq, number, ...REPLAY_COLUMNS.map((column) => entry[column])),
    /** Oldest first. */
    replays: (seq: number) => replays.all(seq),
  };
}

export type WebhookTables = ReturnType<typeof webhookTables>;
