import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { proxyForNode } from "../../core/kit/proxy-route.ts";
import { hostOf, reachOf } from "../../core/network/address-guard.ts";
import type { ErrorCode } from "../http/refusal.ts";

export type Outcome =
  | { readonly is: "answered"; readonly status: number }
  | { readonly is: "blocked" }
  | { readonly is: "late" }
  /** The connection failed or was closed before a response arrived. */
  | { readonly is: "unreachable" }
  | { readonly is: "no-body" };

const FAILURES = {
  DEADLINE_EXCEEDED: ["The destination did not answer in time.", true],
  UNAVAILABLE: ["The destination could not be reached, or answered with a redirect or a server error.", true],
  RESOURCE_EXHAUSTED: ["The destination limited the request rate.", true],
  UNAUTHORIZED: ["The destination requires a credential.", false],
  PERMISSION_DENIED: ["The destination refused the request.", false],
  NOT_FOUND: ["The destination was not found.", false],
  INVALID_ARGUMENT: ["The destination did not accept the request.", false],
  FAILED_PRECONDITION: ["Requests to the destination's address are not allowed.", false],
  INTERNAL: ["The request body could not be created.", true],
  UNKNOWN: ["The request failed for an unknown reason.", true],
} as const satisfies Partial<Record<ErrorCode, readonly [string, boolean]>>;

export type FailureCode = keyof typeof FAILURES;

/** Describes a failed request. The message depends only on the code, so it reveals nothing about the response. */
export function failureOf(code: FailureCode) {
  const [message, retryable] = FAILURES[code];
  return { code, message, retryable };
}

const BY_STATUS = new Map<number, FailureCode>([
  [401, "UNAUTHORIZED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
]);

function codeOfStatus(status: number): FailureCode | null {
  if (status >= 200 && status < 300) return null;
  const known = BY_STATUS.get(status);
  if (known) return known;
  if (status >= 400 && status < 500) return "INVALID_ARGUMENT";
  return (status >= 300 && status < 400) || (status >= 500 && status < 600) ? "UNAVAILABLE" : "UNKNOWN";
}

const UNANSWERED = {
  blocked: "FAILED_PRECONDITION",
  late: "DEADLINE_EXCEEDED",
  unreachable: "UNAVAILABLE",
  "no-body": "INTERNAL",
} as const;

export function codeOf(outcome: Outcome): FailureCode | null {
  return outcome.is === "answered" ? codeOfStatus(outcome.status) : UNANSWERED[outcome.is];
}

export function statusOf(outcome: Outcome): number | null {
  return outcome.is === "answered" ? outcome.status : null;
}

export function testResult(outcome: Outcome | null) {
  const code = outcome === null ? "UNKNOWN" : codeOf(outcome);
  return {
    ok: code === null,
    response_status: outcome === null ? null : statusOf(outcome),
    error: code === null ? null : `${code}: ${failureOf(code).message}`,
  };
}

export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Number of response bytes to read and ignore before the connection is closed. */
const MAX_ANSWER_BYTES = 65_536;

type Reachable = Exclude<Destination, { readonly is: "blocked" }>;

/** Returns a name lookup that always gives the checked addresses, even if the name now resolves to other addresses. */
function pinned(to: Extract<Destination, { readonly is: "open" }>["to"]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) callback(null, [...to]);
    else callback(null, to[0].address, to[0].family);
  };
}

function drain(response: http.IncomingMessage): void {
  let left = MAX_ANSWER_BYTES;
  response.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) response.destroy();
  });
  response.on("error", () => undefined);
}

function post(destination: Reachable, message: Message, signal: AbortSignal): Promise<Outcome | null> {
  return new Promise((resolve) => {
    const { url } = destination;
    const { request, Agent } = url.protocol === "https:" ? https : http;
    const proxyEnv = proxyForNode(url);
    if (proxyEnv === null && destination.is === "unresolved") return resolve({ is: "unreachable" });
    const host = hostOf(url);
    const sending = request(url, {
      method: "POST",
      signal,
      headers: { ...message.headers, "Content-Length": message.body.byteLength },
      ...(destination.is === "open" && proxyEnv === null
        ? { agent: false, lookup: pinned(destination.to) }
        : { agent: new Agent({ proxyEnv: proxyEnv ?? undefined }) }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
    });
    sending.on("response", (response) => {
      drain(response);
      resolve({ is: "answered", status: response.statusCode ?? 0 });
    });
    const end = () => resolve(signal.aborted ? null : { is: "unreachable" });
    sending.on("error", end).on("close", end).end(message.body);
  });
}

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

interface DestinationRules {
  readonly allowLoopback: boolean;
  /** Returns the service's own port. Requests to it are refused, so that the service cannot call itself. */
  ownPort(): number;
}

type Destination =
  | { readonly is: "open"; readonly url: URL; readonly to: readonly [LookupAddress, ...LookupAddress[]] }
  | { readonly is: "blocked" }
  | { readonly is: "unresolved"; readonly url: URL };

const BLOCKED: Destination = { is: "blocked" };

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function mayReach(url: URL, { address }: LookupAddress, rules: DestinationRules): boolean {
  const reach = reachOf(address);
  if (reach !== "loopback") return reach === "public";
  return rules.allowLoopback && portOf(url) !== rules.ownPort();
}

async function addressesOf(url: URL, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  return family === 0 ? resolve(host) : [{ address: host, family }];
}

/** Resolves a URL to the addresses to connect to. Blocks it if any of them is forbidden. */
async function findDestination(text: string, resolve: Resolve, rules: DestinationRules): Promise<Destination> {
  if (!URL.canParse(text)) return BLOCKED;
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return BLOCKED;
  const found = await addressesOf(url, resolve).catch(() => []);
  const [first, ...others] = found;
  if (!first) return { is: "unresolved", url };
  return found.every((address) => mayReach(url, address, rules))
    ? { is: "open", url, to: [first, ...others] }
    : BLOCKED;
}

/** All requests that the service sends go through this interface. */
export interface Outbound {
  /** Sends a request. Never rejects; resolves to null if the service closes before the response arrives. */
  post(url: string, message: Message): Promise<Outcome | null>;
  during<T>(work: Promise<T>): Promise<T>;
  /** Waits until no request is in flight, but gives up if new requests keep starting. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface OutboundOptions extends DestinationRules {
  /** Maximum time from the name lookup to the end of the response, in milliseconds. */
  readonly timeoutMs: number;
  readonly resolve?: Resolve;
}

const IDLE_ROUNDS = 100;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

export function createOutbound(options: OutboundOptions): Outbound {
  const { timeoutMs, resolve = systemResolve } = options;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<unknown>>();

  async function send(url: string, message: Message): Promise<Outcome | null> {
    if (stopping.signal.aborted) return null;
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)]);
    const found = await Promise.race([findDestination(url, resolve, options), aborted(signal)]);
    const outcome = found === null || found.is === "blocked" ? found : await post(found, message, signal);
    return outcome ?? (stopping.signal.aborted ? null : { is: "late" });
  }

  function during<T>(work: Promise<T>): Promise<T> {
    const end = () => void inFlight.delete(work);
    inFlight.add(work);
    work.then(end, end);
    return work;
  }

  return {
    during,
    post: (url, message) => during(send(url, message).catch((): Outcome => ({ is: "unreachable" }))),
    async idle() {
      for (let round = 0; round < IDLE_ROUNDS && inFlight.size > 0; round += 1) await Promise.allSettled([...inFlight]);
    },
    async close() {
      stopping.abort();
      while (inFlight.size > 0) await Promise.allSettled([...inFlight]);
    },
  };
}

/** Resolves to null when the signal aborts. This ends the wait for a name lookup, which itself cannot be cancelled. */
function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
}
