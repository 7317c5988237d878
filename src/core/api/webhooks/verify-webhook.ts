import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { z } from "zod";
import { type JobResult, jobResult } from "../endpoints/jobs.ts";
import { parseJson } from "../redactor.ts";
import { currency, micros, text, wire, withDefault } from "../wire.ts";

export interface SignedParts {
  /** Time of signing, in Unix seconds as text. */
  readonly timestamp: string;
  readonly id: string;
  readonly event: string;
  /** The text `true` if a person requested this delivery again, otherwise the text `false`. */
  readonly redelivery: string;
}

export function signedText({ timestamp, id, event, redelivery }: SignedParts, body: Uint8Array): Buffer {
  const bodyHash = createHash("sha256").update(body).digest("hex");
  return Buffer.from([timestamp, id, event, redelivery, bodyHash].join("\n"));
}

/** The headers of a request: a Fetch `Headers` object, or a record as in Node. */
export type HeaderSource = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export function readHeaders(source: HeaderSource): ReadonlyMap<string, string> {
  const entries = source instanceof Headers ? [...source.entries()] : Object.entries(source);
  const read = new Map<string, string>();
  for (const [name, value] of entries) {
    const header = Array.isArray(value) ? value[0] : value;
    if (typeof header === "string") read.set(name.toLowerCase(), header.trim());
  }
  return read;
}

/**
 * Finds the header named `x-<brand><ending>` and returns its brand; null if there are several or none. If `given` is
 * set, only that brand's header counts.
 */
export function findBrand(headers: ReadonlyMap<string, string>, ending: string, given: string | null): string | null {
  if (given !== null) return headers.has(`x-${given.toLowerCase()}${ending}`) ? given.toLowerCase() : null;
  const found = [...headers.keys()].filter(
    (name) => name.startsWith("x-") && name.endsWith(ending) && name.length > ending.length + 2,
  );
  return found.length === 1 ? found[0]!.slice(2, -ending.length) : null;
}

/** A received webhook, before its signature is checked. */
export interface WebhookDelivery {
  readonly headers: HeaderSource;
  /** The body's raw bytes, before any parsing. */
  readonly body: Uint8Array;
  /** The service's ed25519 key: 32 raw bytes in Base64. */
  readonly publicKey: string;
  /** Current time, in epoch milliseconds. */
  readonly now: number;
  /** Maximum difference between `now` and the time of signing, in milliseconds. Default: 300,000. */
  readonly toleranceMs?: number | undefined;
  /** The only brand whose headers are accepted. Default: any brand. */
  readonly brand?: string | null | undefined;
}

interface Delivered {
  /** The event's id, which is the same in all its deliveries. Use it to recognize duplicates. */
  readonly id: string;
  /** Kind of event, such as `job.completed`, `job.failed` or `billing.top_off_failed`. */
  readonly event: string;
  /** True if a person requested this delivery again. Handle it even if its id was seen before. */
  readonly redelivery: boolean;
  /** Number of the delivery attempt; null if absent. It is not signed, so do not rely on it. */
  readonly attempt: number | null;
  /** Time of signing, in epoch milliseconds. */
  readonly signedAt: number;
  readonly brand: string;
}

/**
 * A webhook event that reports the end of a job. Fetch the job for its current state, because `job` may be outdated.
 */
export interface WebhookEvent extends Delivered {
  readonly job: JobResult;
}

const topOffFailure = wire({
  /** Why the top-up failed, such as `payment_method_declined`. */
  reason: withDefault(z.string(), "unknown"),
  amountAttemptedMicros: micros,
  balanceMicros: micros,
  currency,
  createdAt: text,
});

/** Why the wallet's automatic top-up failed. Amounts are in micro-dollars. */
export type TopOffFailure = z.output<typeof topOffFailure>;

/** An event about the account, not about a job. It is sent only to the default webhook. */
export interface AccountEvent extends Delivered {
  readonly job: null;
  /** Details of a `billing.top_off_failed` event; null for other events. */
  readonly topOffFailure: TopOffFailure | null;
}

/** Why a delivery was refused. */
export type WebhookRefusal =
  | "missing-headers"
  | "malformed-headers"
  | "stale"
  | "bad-signature"
  | "malformed-body"
  | "malformed-key";

/** The verified event, or the reason why the delivery was refused. */
export type WebhookVerdict =
  | { readonly ok: true; readonly event: WebhookEvent | AccountEvent }
  | { readonly ok: false; readonly reason: WebhookRefusal };

interface SignedHeaders {
  readonly brand: string;
  readonly id: string;
  readonly event: string;
  readonly timestamp: string;
  readonly redelivery: string;
  readonly signature: string;
  readonly attempt: string | null;
}

/** Verifies the signature, time and shape of a webhook delivery. Never throws. */
export function verifyWebhook(delivery: WebhookDelivery): WebhookVerdict {
  const verdict = verifySignature(delivery);
  if (!verdict.ok) return verdict;
  const { brand, id, event, timestamp, redelivery, attempt } = verdict.signed;
  const about = contentOf(event, parseJson(Buffer.from(delivery.body).toString("utf8")));
  if (about === null) return refuse("malformed-body");
  const delivered = {
    id,
    event,
    brand,
    redelivery: redelivery === "true",
    attempt: /^\d{1,6}$/.test(attempt ?? "") ? Number(attempt) : null,
    signedAt: Number(timestamp) * 1000,
  };
  return { ok: true, event: { ...delivered, ...about } };
}

function contentOf(
  event: string,
  body: unknown,
): Pick<WebhookEvent, "job"> | Pick<AccountEvent, "job" | "topOffFailure"> | null {
  if (event === "billing.top_off_failed") {
    const read = topOffFailure.safeParse(body);
    return read.success ? { job: null, topOffFailure: read.data } : null;
  }
  if (event.startsWith("billing.")) return { job: null, topOffFailure: null };
  const read = jobResult.safeParse(body);
  return read.success ? { job: read.data } : null;
}

/** Verifies everything about a delivery except the shape of its body. */
export function verifySignature(
  delivery: WebhookDelivery,
): { readonly ok: true; readonly signed: SignedHeaders } | { readonly ok: false; readonly reason: WebhookRefusal } {
  const signed = checkHeaders(delivery);
  if (typeof signed === "string") return refuse(signed);
  const key = publicKeyOf(delivery.publicKey);
  if (key === null) return refuse("malformed-key");
  const isGenuine = verify(null, signedText(signed, delivery.body), key, Buffer.from(signed.signature, "hex"));
  return isGenuine ? { ok: true, signed } : refuse("bad-signature");
}

export function checkHeaders({
  headers,
  brand,
  now,
  toleranceMs = 300_000,
}: Pick<WebhookDelivery, "headers" | "brand" | "now" | "toleranceMs">): SignedHeaders | WebhookRefusal {
  const signed = signedHeaders(readHeaders(headers), brand ?? null);
  if (signed === null) return "missing-headers";
  const isWellFormed =
    /^\d{1,12}$/.test(signed.timestamp) &&
    /^[0-9a-f]{128}$/i.test(signed.signature) &&
    /^(true|false)$/.test(signed.redelivery);
  if (!isWellFormed) return "malformed-headers";
  return Math.abs(now - Number(signed.timestamp) * 1000) > toleranceMs ? "stale" : signed;
}

function refuse(reason: WebhookRefusal): { readonly ok: false; readonly reason: WebhookRefusal } {
  return { ok: false, reason };
}

function signedHeaders(headers: ReadonlyMap<string, string>, given: string | null): SignedHeaders | null {
  const brand = findBrand(headers, "-webhook-signature", given);
  if (brand === null) return null;
  const read = (name: string) => headers.get(`x-${brand}-webhook-${name}`);
  const [id, event, timestamp, signature] = [read("id"), read("event"), read("timestamp"), read("signature")];
  if (!id || !event || !timestamp || !signature) return null;
  return {
    brand,
    id,
    event,
    timestamp,
    signature,
    redelivery: read("redelivery") ?? "false",
    attempt: read("attempt") ?? null,
  };
}

function publicKeyOf(base64: string): KeyObject | null {
  const raw = Buffer.from(base64, "base64");
  if (raw.length !== 32) return null;
  try {
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") }, format: "jwk" });
  } catch {
    return null;
  }
}

const notification = z.object({
  id: z.string(),
  event: z.string(),
  run: z.string().nullable(),
  pipeline: z.string().nullable(),
  title: z.string().nullable().default(null),
  at: z.string(),
  status: z.string().nullable(),
  reason: z.string().nullable(),
  message: z.string().nullable(),
  step: z.string().nullable(),
  cost_usd: z.string().nullable(),
  next: z.string().nullable(),
});

/** A notification about a run; see docs/notifications.md. */
export type RunNotification = z.output<typeof notification>;

/** The verified notification, or the reason why it was refused. */
export type NotificationVerdict =
  | { readonly ok: true; readonly notification: RunNotification }
  | { readonly ok: false; readonly reason: WebhookRefusal };

/** Verifies a notification that Showrunner sent. `showrunner notify key` prints the public key. Never throws. */
export function verifyNotification(delivery: WebhookDelivery): NotificationVerdict {
  const verdict = verifySignature(delivery);
  if (!verdict.ok) return verdict;
  const read = notification.safeParse(parseJson(Buffer.from(delivery.body).toString("utf8")));
  return read.success ? { ok: true, notification: read.data } : { ok: false, reason: "malformed-body" };
}
