import type { Statements } from "../store/statement.ts";
import type { DeliveryState, ReplayEntry } from "./delivery.ts";

/** A delivery with the values fixed at the submit. */
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
  /** POSTs of the next attempt: 2 when a fault duplicates it. */
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

const PAGE = "SELECT * FROM deliveries WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
const UNSENT = "SELECT * FROM deliveries WHERE nextAttemptAt IS NOT NULL OR status = 'DELIVERING' ORDER BY seq";

/** Default webhooks, deliveries and their redeliveries; creates the tables when missing. */
export function webhookTables(db: Statements) {
  db.define(TABLES);
  return {
    defaults: {
      get: (workspaceId: string) =>
        db.get<DefaultWebhookRow>("SELECT * FROM defaultWebhooks WHERE workspaceId = ?", workspaceId),
      set: (row: DefaultWebhookRow) => db.insert("defaultWebhooks", row, "INSERT OR REPLACE"),
      remove: (workspaceId: string) => db.run("DELETE FROM defaultWebhooks WHERE workspaceId = ?", workspaceId),
    },
    insert: (row: Omit<DeliveryRow, "seq">) => db.insert("deliveries", row),
    update: (row: DeliveryRow) => db.update("deliveries", row),
    bySeq: (seq: number) => db.get<DeliveryRow>("SELECT * FROM deliveries WHERE seq = ?", seq),
    byJob: (jobSeq: number) => db.get<DeliveryRow>("SELECT * FROM deliveries WHERE jobSeq = ?", jobSeq),
    byJobId: (workspaceId: string, jobId: string) =>
      db.get<DeliveryRow>("SELECT * FROM deliveries WHERE workspaceId = ? AND jobId = ?", workspaceId, jobId),
    /** Newest first, before the cursor `before`. */
    page: (workspaceId: string, before: number, limit: number) => db.all<DeliveryRow>(PAGE, workspaceId, before, limit),
    /** Deliveries with something left to send, and those that a dead process was sending. */
    unsent: () => db.all<DeliveryRow>(UNSENT),
    addReplay: (deliverySeq: number, number: number, entry: ReplayEntry) =>
      db.insert("redeliveries", { deliverySeq, number, ...entry }),
    /** Oldest first. */
    replays: (seq: number) =>
      db.all<ReplayEntry>("SELECT * FROM redeliveries WHERE deliverySeq = ? ORDER BY number", seq),
  };
}

export type WebhookTables = ReturnType<typeof webhookTables>;
