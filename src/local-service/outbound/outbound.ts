import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Destination, type DestinationRules, findDestination, type Resolve } from "./destination.ts";
import type { Outcome } from "./outcome.ts";

/** The POST's body and headers. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Bytes of a response's body that are read and ignored before the connection is closed. */
const MAX_ANSWER_BYTES = 65_536;

type Open = Extract<Destination, { readonly is: "open" }>;

/** Pins the connection to the checked address, whatever the name resolves to by now. */
function pinned({ address, family }: Open["to"]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) callback(null, [{ address, family }]);
    else callback(null, address, family);
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

/**
 * One POST on its own connection, to the given address. Follows no redirect. Resolves with the response's status as
 * soon as its headers arrive; the whole exchange ends within the timeout. Null when aborted by the signal.
 */
export function post(
  { url, to }: Open,
  message: Message,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Outcome | null> {
  return new Promise((resolve) => {
    const { request } = url.protocol === "https:" ? https : http;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const sending = request(url, {
      method: "POST",
      headers: { ...message.headers, "Content-Length": message.body.byteLength },
      agent: false,
      lookup: pinned(to),
      ...(isIP(host) === 0 ? { servername: host } : {}),
    });
    const limit = setTimeout(() => {
      resolve({ is: "late" });
      sending.destroy();
    }, timeoutMs);
    const abort = () => {
      resolve(null);
      sending.destroy();
    };
    signal.addEventListener("abort", abort, { once: true });
    sending.on("response", (response) => {
      drain(response);
      resolve({ is: "answered", status: response.statusCode ?? 0 });
    });
    sending.on("error", () => resolve({ is: "unreachable" }));
    sending.on("close", () => {
      clearTimeout(limit);
      signal.removeEventListener("abort", abort);
      resolve({ is: "unreachable" });
    });
    sending.end(message.body);
  });
}

/** The only egress of the service: every POST to an address that a caller named goes through here. */
export interface Outbound {
  /**
   * Checks the destination, then posts. Null when the service closes first, so the outcome is unknown. Never rejects.
   */
  post(url: string, message: Message): Promise<Outcome | null>;
  /** Counts work as in flight until it ends; `idle` waits for it. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Resolves when no work is in flight; under continuous load, after a bounded number of rounds. */
  idle(): Promise<void>;
  /** Aborts every POST; later ones are not sent. */
  close(): Promise<void>;
}

export interface OutboundOptions extends DestinationRules {
  /** Timeout from the name lookup to the end of the response, in real milliseconds. */
  readonly timeoutMs: number;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

/** Rounds of follow-up work that `idle` waits for. */
const IDLE_ROUNDS = 100;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

export function createOutbound(options: OutboundOptions): Outbound {
  const { timeoutMs, resolve = systemResolve } = options;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<unknown>>();

  async function send(url: string, message: Message): Promise<Outcome | null> {
    if (stopping.signal.aborted) return null;
    const until = performance.now() + timeoutMs;
    const found = await inTime(findDestination(url, resolve, options), timeoutMs, stopping.signal);
    if (stopping.signal.aborted) return null;
    if (found === null) return { is: "late" };
    if (found.is === "blocked") return found;
    if (found.is === "unresolved") return { is: "unreachable" };
    return post(found, message, Math.max(1, until - performance.now()), stopping.signal);
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

/** Null on timeout or abort; a name lookup cannot be cancelled. */
function inTime<T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(null);
    };
    const timer = setTimeout(stop, limitMs);
    signal.addEventListener("abort", stop);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
