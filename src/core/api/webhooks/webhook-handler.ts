import { createHmac, timingSafeEqual } from "node:crypto";
import { DAY_MS } from "../../kit/duration.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Client } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Logger, parseJson, silentLogger } from "../redactor.ts";
import {
  type AccountEvent,
  checkHeaders,
  findBrand,
  type HeaderSource,
  readHeaders,
  verifyWebhook,
  type WebhookEvent,
  type WebhookRefusal,
  type WebhookVerdict,
} from "./verify-webhook.ts";

interface Receiving {
  readonly maxBytes: number;
  /** Checks a request's headers before its body is read. Returns a response that refuses the request, or null. */
  refuse(headers: Headers): Response | null;
  handle(headers: Headers, body: Uint8Array): Promise<Response>;
}

function receiver({ maxBytes, refuse, handle }: Receiving): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== "POST") return answer(405, "POST only", { allow: "POST" });
    const refused = refuse(request.headers);
    if (refused !== null) return refused;
    const body = await readBody(request, maxBytes).catch(() => undefined);
    if (body === undefined) return answer(400, "the body is incomplete");
    return body === null ? answer(413, "the body is too large") : handle(request.headers, body);
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return null;
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of request.body as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}

interface KeyCache {
  current(): Promise<string>;
  /**
   * Returns a key other than `stale`, fetching it if necessary. Returns null if there is no other key, or if the last
   * fetch was only a short time ago.
   */
  newer(stale: string): Promise<string | null>;
}

/** Minimum time between fetches of the service's key, so that forged deliveries cannot cause many fetches. */
const refreshEveryMs = 60_000;

function createKeyCache(fetchKey: () => Promise<string>, clock: Clock): KeyCache {
  let key: Promise<string> | null = null;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  const load = (): Promise<string> => {
    refreshedAt = clock.now();
    const loading = fetchKey().catch((error) => {
      if (key === loading) key = null;
      throw error;
    });
    key = loading;
    return loading;
  };
  return {
    current: () => key ?? load(),
    async newer(stale) {
      const known = await (key ?? load());
      if (known !== stale) return known;
      if (clock.now() - refreshedAt < refreshEveryMs) return null;
      const fresh = await load();
      return fresh === stale ? null : fresh;
    },
  };
}

/** Options for `createWebhookHandler`. */
export interface WebhookHandlerOptions {
  /** The client that fetches the signing key and is notified of every job event. */
  readonly client?: Pick<Client, "webhooks" | "notify" | "expectWebhooks"> | undefined;
  /** The signing key in Base64. Default: fetched by `client`. */
  readonly publicKey?: string | undefined;
  /** Handles one job event. If it throws, the service delivers the event again later. */
  readonly onEvent?: ((event: WebhookEvent) => void | Promise<void>) | undefined;
  /** Handles one account event, such as a failed top-up of the wallet. Default: logs a warning. */
  readonly onAccountEvent?: ((event: AccountEvent) => void | Promise<void>) | undefined;
  /** Remembers which events were handled. Default: `seenInMemory()`. */
  readonly seen?: SeenEvents | undefined;
  /** Accept only this brand's headers. Default: any. */
  readonly brand?: string | undefined;
  /** Maximum size of a body in bytes. Default: 1,048,576. */
  readonly maxBytes?: number | undefined;
  /** Maximum difference between the clock and the time at which a delivery was signed, in milliseconds. Default: 300,000. */
  readonly toleranceMs?: number | undefined;
  /** The clock to use. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** The logger. Default: logs nothing. */
  readonly logger?: Logger | undefined;
}

/**
 * Creates a Fetch-style webhook handler, for example for Hono or Next.js. If it responds with 500 or 503, the service
 * delivers the event again.
 */
export function createWebhookHandler(options: WebhookHandlerOptions): (request: Request) => Promise<Response> {
  const logger = options.logger ?? silentLogger;
  const clock = options.clock ?? systemClock;
  const keys = keysOf(options, clock);
  const handle = onceEach(options);
  options.client?.expectWebhooks();

  const refused = (reason: WebhookRefusal) => {
    logger.warn({ reason }, "webhook refused");
    return answer(STATUS[reason], reason);
  };
  const refuse = (headers: Headers) => {
    const signed = checkHeaders({ ...options, headers, now: clock.now() });
    return typeof signed === "string" ? refused(signed) : null;
  };
  const receiveWhole = async (headers: Headers, body: Uint8Array) => {
    const verdict = await verdictOf(options, keys, clock, headers, body);
    if (verdict === null) return answer(503, "the signing key is not available");
    if (!verdict.ok) return refused(verdict.reason);
    try {
      await handle(verdict.event);
    } catch (error) {
      logger.error({ id: verdict.event.id, error: String(error) }, "webhook handler failed");
      return answer(500, "the handler failed; deliver the event again");
    }
    return answer(200, "ok");
  };
  return receiver({ maxBytes: options.maxBytes ?? 1_048_576, refuse, handle: receiveWhole });
}

const STATUS: Readonly<Record<WebhookRefusal, number>> = {
  "missing-headers": 400,
  "malformed-headers": 400,
  "malformed-body": 400,
  "malformed-key": 400,
  stale: 401,
  "bad-signature": 401,
};

function keysOf(options: WebhookHandlerOptions, clock: Clock): KeyCache {
  const { publicKey, client } = options;
  if (publicKey !== undefined) return { current: async () => publicKey, newer: async () => null };
  if (client === undefined)
    throw new TypeError("createWebhookHandler needs a client or a publicKey to verify signatures");
  return createKeyCache(async () => (await client.webhooks.publicKey()).publicKey, clock);
}

async function verdictOf(
  options: WebhookHandlerOptions,
  keys: KeyCache,
  clock: Clock,
  headers: Headers,
  body: Uint8Array,
): Promise<WebhookVerdict | null> {
  const { brand, toleranceMs } = options;
  const judge = (publicKey: string) =>
    verifyWebhook({ headers, body, publicKey, now: clock.now(), brand, toleranceMs });
  try {
    const key = await keys.current();
    const first = judge(key);
    if (first.ok || first.reason !== "bad-signature") return first;
    const newer = await keys.newer(key);
    return newer === null ? first : judge(newer);
  } catch {
    return null;
  }
}

function onceEach(options: WebhookHandlerOptions): (event: WebhookEvent | AccountEvent) => Promise<void> {
  const { seen = seenInMemory(), logger = silentLogger } = options;
  const warn = ({ id, event, topOffFailure }: AccountEvent) =>
    logger.warn({ id, event, ...topOffFailure }, "account event");
  const inFlight = new Map<string, Promise<void>>();
  const handle = async (event: WebhookEvent | AccountEvent) => {
    // Each redelivery is handled once. Its time of signing distinguishes it from other redeliveries.
    const id = event.redelivery ? `${event.id} redelivered ${event.signedAt}` : event.id;
    if (await seen.has(id)) return;
    if (event.job === null) await (options.onAccountEvent ?? warn)(event);
    else await options.onEvent?.(event);
    await seen.add(id);
    if (event.redelivery) await seen.add(event.id);
    if (event.job !== null) options.client?.notify(event.job.jobId);
  };
  return (event) => {
    const key = `${event.redelivery} ${event.id}`;
    const running = inFlight.get(key) ?? handle(event).finally(() => inFlight.delete(key));
    inFlight.set(key, running);
    return running;
  };
}

/** Remembers which events were handled, so that repeated deliveries are not handled again. */
export interface SeenEvents {
  /** True if the event was already handled. */
  has(id: string): boolean | Promise<boolean>;
  /** Remembers an event. Called after the event has been handled. */
  add(id: string): void | Promise<void>;
}

/** Remembers the newest `capacity` event ids in memory, until the process ends. */
export function seenInMemory(capacity = 100_000): SeenEvents {
  const ids = new BoundedMap<string, true>(capacity);
  return { has: (id) => ids.has(id), add: (id) => void ids.set(id, true) };
}

/** Remembers event ids in a SQLite file for `keepMs` milliseconds (default: 30 days). */
export function seenInFile(path: string, keepMs = 30 * DAY_MS): SeenEvents & { close(): void } {
  // Loaded only here, because the module prints a warning on Node 22.
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

/** An event from a log drain. It may be delivered several times, with the same job and log ids. */
export interface DrainEvent {
  readonly timestamp: string | null;
  readonly level: string | null;
  readonly message: string | null;
  readonly logId: string | null;
  readonly jobId: string | null;
  readonly model: string | null;
  readonly event: string | null;
  readonly source: string | null;
  readonly data: unknown;
}

/** Options for `createDrainHandler`. */
export interface DrainHandlerOptions {
  /** The drain's secret. While you rotate it, pass both the old and the new secret. */
  readonly secret: string | readonly string[];
  /** Handles one batch. If it throws, the service posts the batch again. */
  readonly onEvents: (events: readonly DrainEvent[]) => void | Promise<void>;
  /** Accept only this brand's headers. Default: any. */
  readonly brand?: string | undefined;
  /** Maximum size of a batch in bytes. Default: 16,777,216. */
  readonly maxBytes?: number | undefined;
  /** The logger. Default: logs nothing. */
  readonly logger?: Logger | undefined;
}

/** Returns whether a log drain's post was signed with the secret. */
export function verifyLogDrain(post: {
  readonly headers: HeaderSource;
  readonly body: Uint8Array;
  readonly secret: string;
  readonly brand?: string | null | undefined;
}): boolean {
  const signature = signatureIn(post.headers, post.brand);
  if (signature === null) return false;
  return timingSafeEqual(createHmac("sha256", post.secret).update(post.body).digest(), Buffer.from(signature, "hex"));
}

function signatureIn(source: HeaderSource, given: string | null | undefined): string | null {
  const headers = readHeaders(source);
  const brand = findBrand(headers, "-signature", given ?? null);
  const signature = brand === null ? "" : (headers.get(`x-${brand}-signature`) ?? "");
  return /^[0-9a-f]{64}$/i.test(signature) ? signature : null;
}

/** Creates a Fetch-style request handler for NDJSON log drains. */
export function createDrainHandler(options: DrainHandlerOptions): (request: Request) => Promise<Response> {
  const secrets = typeof options.secret === "string" ? [options.secret] : options.secret;
  if (secrets.some((secret) => secret === "")) throw new TypeError("createDrainHandler needs the drain's secret");
  const logger = options.logger ?? silentLogger;
  const refuse = (headers: Headers) =>
    signatureIn(headers, options.brand) === null ? answer(401, "bad-signature") : null;
  const handle = async (headers: Headers, body: Uint8Array) => {
    const genuine = secrets.some((secret) => verifyLogDrain({ headers, body, secret, brand: options.brand }));
    if (!genuine) return answer(401, "bad-signature");
    try {
      await options.onEvents(readDrainEvents(body));
    } catch (error) {
      logger.error({ error: String(error) }, "drain handler failed");
      return answer(500, "the handler failed; post the batch again");
    }
    return answer(200, "ok");
  };
  return receiver({ maxBytes: options.maxBytes ?? 16_777_216, refuse, handle });
}

export function readDrainEvents(body: Uint8Array): DrainEvent[] {
  const lines = Buffer.from(body).toString("utf8").split("\n");
  return lines.flatMap((line) => {
    const value = parseJson(line);
    return typeof value === "object" && value !== null ? [drainEvent(new Map(Object.entries(value)))] : [];
  });
}

function drainEvent(fields: ReadonlyMap<string, unknown>): DrainEvent {
  const prefix = [...fields.keys()].find((name) => name.endsWith("_log_id"))?.slice(0, -"log_id".length) ?? "";
  const text = (name: string) => {
    const value = fields.get(name);
    return value === undefined || value === null ? null : String(value);
  };
  return {
    timestamp: text("timestamp"),
    level: text("level"),
    message: text("message"),
    logId: text(`${prefix}log_id`),
    jobId: text(`${prefix}job_id`),
    model: text(`${prefix}model`),
    event: text(`${prefix}event`),
    source: text(`${prefix}source`),
    data: fields.get(`${prefix}data`) ?? null,
  };
}
