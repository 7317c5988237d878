import { DAY_MS } from "../../kit/duration.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Client } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Logger, silentLogger } from "../redactor.ts";
import {
  type AccountEvent,
  checkHeaders,
  verifyWebhook,
  type WebhookEvent,
  type WebhookRefusal,
  type WebhookVerdict,
} from "./verify-webhook.ts";

interface Receiving {
  readonly maxBytes: number;
  /** Checks a request's headers before its body is read; null if they are accepted. */
  refuse(headers: Headers): Response | null;
  handle(headers: Headers, body: Uint8Array): Promise<Response>;
}

export function receiver({ maxBytes, refuse, handle }: Receiving): (request: Request) => Promise<Response> {
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

export function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}

export interface KeyCache {
  current(): Promise<string>;
  /** Fetches the key again; null if it has not changed or was fetched only recently. */
  newer(stale: string): Promise<string | null>;
}

/** Minimum time between fetches, so that forged deliveries cannot cause many of them. */
const refreshEveryMs = 60_000;

export function createKeyCache(fetchKey: () => Promise<string>, clock: Clock): KeyCache {
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
    // Each redelivery is handled once; its time of signing identifies it.
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
  /** Called after an event was handled. */
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
