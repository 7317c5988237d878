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
  /** The most bytes of a body. */
  readonly maxBytes: number;
  /** What refuses a post by its headers alone, before its body is read; null: nothing. */
  refuse(headers: Headers): Response | null;
  handle(headers: Headers, body: Uint8Array): Promise<Response>;
}

/** A receiver of the Fetch kind for posts that are signed. */
export function receiver({ maxBytes, refuse, handle }: Receiving): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== "POST") return answer(405, "POST only", { allow: "POST" });
    const refused = refuse(request.headers);
    if (refused !== null) return refused;
    const body = await readBody(request, maxBytes).catch(() => undefined);
    if (body === undefined) return answer(400, "the body broke off");
    return body === null ? answer(413, "the body is too large") : handle(request.headers, body);
  };
}

/** The body of a request as bytes, or null when it is larger than allowed; then the rest is not read. */
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

/** A plain answer that tells a sender what happened and an attacker nothing more. */
export function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}

/** The service's signing key, fetched when first needed and again when a signature does not fit: it may have changed. */
export interface KeyCache {
  current(): Promise<string>;
  /** A newer key than `stale`, or null when there is none or one was fetched a moment ago. */
  newer(stale: string): Promise<string | null>;
}

/** Forged deliveries must not make us ask for the key again and again. */
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

export interface WebhookHandlerOptions {
  /** Fetches the signing key, and is notified of every event so that follows by webhook continue. */
  readonly client?: Pick<Client, "webhooks" | "notify" | "expectWebhooks"> | undefined;
  /** Base64 of the signing key, in place of fetching it through the client. It is then never refreshed. */
  readonly publicKey?: string | undefined;
  /** Handles one event of a job. What it throws makes the service deliver again later. */
  readonly onEvent?: ((event: WebhookEvent) => void | Promise<void>) | undefined;
  /** Handles what is of no job, such as a top-up of the wallet that failed; likewise. Default: a warning of the logger. */
  readonly onAccountEvent?: ((event: AccountEvent) => void | Promise<void>) | undefined;
  /** Which events were handled before. Default: the newest 100 000 of this process; see `seenInFile`. */
  readonly seen?: SeenEvents | undefined;
  /** Accept only this brand's headers. Default: any. */
  readonly brand?: string | undefined;
  /** Largest body in bytes. Default 1 048 576. */
  readonly maxBytes?: number | undefined;
  /** How far the time of signing may be off, in milliseconds. Default 300 000. */
  readonly toleranceMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/**
 * A handler of the Fetch kind, for hono, Next and any server that speaks Request and Response. Answers 200 for an event
 * that is handled or was before, 4xx for what is no genuine delivery, 500 when `onEvent` threw and 503 when the signing
 * key cannot be had; the service delivers again after both.
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
      return answer(500, "not handled, deliver again");
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
    throw new TypeError("createWebhookHandler needs a client or a publicKey to check signatures with");
  return createKeyCache(async () => (await client.webhooks.publicKey()).publicKey, clock);
}

/** Null when there is no key to judge by. */
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

/** Handles each id once, redeliveries again, and deliveries of one event that come at the same time together. */
function onceEach(options: WebhookHandlerOptions): (event: WebhookEvent | AccountEvent) => Promise<void> {
  const { seen = seenInMemory(), logger = silentLogger } = options;
  const warn = ({ id, event, topOffFailure }: AccountEvent) =>
    logger.warn({ id, event, ...topOffFailure }, "event of the account");
  const inFlight = new Map<string, Promise<void>>();
  const handle = async (event: WebhookEvent | AccountEvent) => {
    // An operator may replay an event, each time signed anew; the same signed replay counts once.
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
export function seenInFile(path: string, keepMs = 30 * DAY_MS): SeenEvents & { close(): void } {
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
