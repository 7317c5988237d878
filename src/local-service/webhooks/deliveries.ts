import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { codeOf, type FailureCode, type Outcome, statusOf } from "../outbound/outbound.ts";
import { delayAfter } from "../outbound/outbox.ts";
import type { Statements } from "../store/database.ts";

/** The values in a webhook's headers. The signature covers all of them except the attempt number. */
export interface Announcement {
  /** Id of the event. It is the same for all attempts and redeliveries. */
  readonly id: string;
  readonly event: string;
  readonly redelivery: boolean;
  readonly attempt: number;
  readonly signedAt: number;
}

const KEY_NAME = "webhook_private_key";

interface Meta {
  get(name: string): string | null;
  set(name: string, value: string): unknown;
}

function signingKey(meta: Meta): KeyObject {
  const known = meta.get(KEY_NAME);
  if (known !== null) {
    return createPrivateKey({ key: Buffer.from(known, "base64"), format: "der", type: "pkcs8" });
  }
  const { privateKey } = generateKeyPairSync("ed25519");
  meta.set(KEY_NAME, privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"));
  return privateKey;
}

function rawPublicKey(privateKey: KeyObject): string {
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

export function webhookSigner(meta: Meta, brand: string) {
  const privateKey = signingKey(meta);
  const name = (ending: string) => `X-${brand}-Webhook-${ending}`;
  return {
    publicKey: rawPublicKey(privateKey),
    headers({ id, event, redelivery, attempt, signedAt }: Announcement, body: Uint8Array): Record<string, string> {
      const timestamp = String(Math.floor(signedAt / 1000));
      const digest = createHash("sha256").update(body).digest("hex");
      const text = [timestamp, id, event, String(redelivery), digest].join("\n");
      return {
        "Content-Type": "application/json",
        "User-Agent": `${brand}-Webhooks`,
        [name("Id")]: id,
        [name("Timestamp")]: timestamp,
        [name("Event")]: event,
        [name("Redelivery")]: String(redelivery),
        [name("Attempt")]: String(attempt),
        [name("Signature")]: sign(null, Buffer.from(text), privateKey).toString("hex"),
      };
    },
  };
}

export type WebhookSigner = ReturnType<typeof webhookSigner>;

/** Maximum number of attempts for a delivery. A redelivery starts the count again. */
export const MAX_ATTEMPTS = 12;

export type DeliveryStatus = "PENDING" | "DELIVERING" | "DELIVERED" | "FAILED";
export type DeliveryEvent = "job.completed" | "job.failed" | "billing.top_off_failed";

/** A delivery's attempts so far. Times are epoch milliseconds on the service's clock. */
export interface DeliveryAttempts {
  readonly status: DeliveryStatus;
  /** Number of attempts started so far. It never decreases. */
  readonly attempts: number;
  readonly lastResponseStatus: number | null;
  readonly lastError: FailureCode | null;
  readonly lastAttemptAt: number | null;
}

export interface DeliveryState extends DeliveryAttempts {
  /** The event to deliver. Null until the job has ended. */
  readonly event: DeliveryEvent | null;
  /**
   * Number of failed attempts since the last redelivery was requested. It determines the delay before the next attempt.
   */
  readonly failedInCycle: number;
  readonly redeliveryCount: number;
  readonly nextAttemptAt: number | null;
}

export interface ReplayEntry extends DeliveryAttempts {
  readonly requestedAt: number;
}

export const NEW_DELIVERY: DeliveryState = {
  status: "PENDING",
  event: null,
  attempts: 0,
  failedInCycle: 0,
  redeliveryCount: 0,
  lastResponseStatus: null,
  lastError: null,
  lastAttemptAt: null,
  nextAttemptAt: null,
};

export function fire<D extends DeliveryState>(delivery: D, event: DeliveryEvent, dueAt: number): D {
  return { ...delivery, event, nextAttemptAt: dueAt };
}

export function isDue({ status, nextAttemptAt }: DeliveryState, now: number): boolean {
  return status === "PENDING" && nextAttemptAt !== null && nextAttemptAt <= now;
}

/** Returns the delivery with a new attempt started. Store it before sending the request. */
export function begin<D extends DeliveryState>(delivery: D, now: number): D {
  const attempts = delivery.attempts + 1;
  return { ...delivery, status: "DELIVERING", attempts, lastAttemptAt: now, nextAttemptAt: null };
}

/** Returns the delivery after an attempt. If the destination is forbidden, no further attempts are made. */
export function end<D extends DeliveryState>(delivery: D, outcome: Outcome, now: number): D {
  const error = codeOf(outcome);
  const answered = { ...delivery, lastResponseStatus: statusOf(outcome) };
  if (error === null) return { ...answered, status: "DELIVERED" };
  const failedInCycle = delivery.failedInCycle + 1;
  const failed = { ...answered, lastError: error, failedInCycle };
  if (outcome.is === "blocked" || failedInCycle === MAX_ATTEMPTS) return { ...failed, status: "FAILED" };
  return { ...failed, status: "PENDING", nextAttemptAt: now + delayAfter(failedInCycle) };
}

/** Schedules an interrupted attempt again, because it may not have arrived. */
export function interrupted<D extends DeliveryState>(delivery: D, now: number): D {
  return { ...delivery, status: "PENDING", nextAttemptAt: now };
}

export function mayReplay({ status }: DeliveryState): boolean {
  return status === "DELIVERED" || status === "FAILED";
}

export function replay<D extends DeliveryState>(
  delivery: D,
  now: number,
): { readonly delivery: D; readonly entry: ReplayEntry } {
  const { status, attempts, lastResponseStatus, lastError, lastAttemptAt } = delivery;
  const redeliveryCount = delivery.redeliveryCount + 1;
  return {
    delivery: { ...delivery, status: "PENDING", failedInCycle: 0, redeliveryCount, nextAttemptAt: now },
    entry: { requestedAt: now, status, attempts, lastResponseStatus, lastError, lastAttemptAt },
  };
}

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
  /** Number of times that the webhook is sent. Above 1 if a fault duplicates it. */
  readonly copies: number;
  /** Body of an event that is not about a job; otherwise null. */
  readonly payload: string | null;
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
  nextAttemptAt INTEGER, payload TEXT
);
CREATE INDEX IF NOT EXISTS deliveriesByWorkspace ON deliveries (workspaceId, seq);
CREATE INDEX IF NOT EXISTS deliveriesToSend ON deliveries (seq) WHERE nextAttemptAt IS NOT NULL OR status = 'DELIVERING';
CREATE TABLE IF NOT EXISTS redeliveries (
  deliverySeq INTEGER NOT NULL, number INTEGER NOT NULL, requestedAt INTEGER NOT NULL, status TEXT NOT NULL,
  attempts INTEGER NOT NULL, lastResponseStatus INTEGER, lastError TEXT, lastAttemptAt INTEGER,
  PRIMARY KEY (deliverySeq, number)
) WITHOUT ROWID;
`;

const PAGE = "SELECT * FROM deliveries WHERE workspaceId = ? AND payload IS NULL AND seq < ? ORDER BY seq DESC LIMIT ?";
const UNSENT = "SELECT * FROM deliveries WHERE nextAttemptAt IS NOT NULL OR status = 'DELIVERING' ORDER BY seq";

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
      db.get<DeliveryRow>(
        "SELECT * FROM deliveries WHERE workspaceId = ? AND payload IS NULL AND jobId = ?",
        workspaceId,
        jobId,
      ),
    page: (workspaceId: string, before: number, limit: number) => db.all<DeliveryRow>(PAGE, workspaceId, before, limit),
    /**
     * Returns the deliveries that still need an attempt, including those whose last attempt was interrupted because the
     * process ended.
     */
    unsent: () => db.all<DeliveryRow>(UNSENT),
    addReplay: (deliverySeq: number, number: number, entry: ReplayEntry) =>
      db.insert("redeliveries", { deliverySeq, number, ...entry }),
    replays: (seq: number) =>
      db.all<ReplayEntry>("SELECT * FROM redeliveries WHERE deliverySeq = ? ORDER BY number", seq),
  };
}

export type WebhookTables = ReturnType<typeof webhookTables>;
