import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { checkProtocol, ForbiddenAddressError, hostOf, lookupThat, reachOf } from "./address-guard.ts";
import { codingsOf, decodedBody, UNCODED } from "./content-coding.ts";
import { createAgent, judgeBeforeProxy, withRoutes } from "./proxy.ts";
import { CONNECT_MS, undici } from "./undici.ts";

export const MOST_REDIRECTS = 5;

/**
 * Sends a request to an address of the operator's: one of a flag, the environment or an option of the program. It may be
 * anywhere. A redirect is an answer and is not followed: the operator did not name where it leads.
 */
export function fetchForOperator(url: string | URL, init: Omit<RequestInit, "redirect">): Promise<Response> {
  return withRoutes(() => fetch(url, { ...init, redirect: "manual" }));
}

export interface Fetched {
  readonly status: number;
  /** Without the coding that it was sent in. To be read or destroyed. */
  readonly body: Readable;
}

export interface InputFetch {
  /** Origins inside a network that author or operator named. */
  readonly inside: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Reads an address that an input names. It must lead to the open internet, or be of an origin that is named in `inside`.
 * Redirects are followed, and judged alike; an origin named in `inside` counts only for what the input itself names there.
 * @throws ForbiddenAddressError
 */
export async function fetchForInput(url: string, { inside, signal }: InputFetch): Promise<Fetched> {
  let target = new URL(url);
  let isNamed = inside.includes(target.origin);
  for (let redirects = 0; ; redirects += 1) {
    const { statusCode: status, headers, body } = await get(target, isNamed, signal);
    const next = redirectTarget(target, status, headers);
    if (next === null) return { status, body: decodedBody(body, codingsOf(headers)) };
    body.on("error", () => {}).destroy();
    if (redirects === MOST_REDIRECTS) throw new Error(`it redirects more than ${MOST_REDIRECTS} times`);
    isNamed &&= next.origin === target.origin;
    target = next;
  }
}

/** Where an answer sends the reader on; null for one that is no redirect. */
export function redirectTarget(from: URL, status: number, { location }: IncomingHttpHeaders): URL | null {
  const isRedirect = [301, 302, 303, 307, 308].includes(status) && typeof location === "string";
  return isRedirect && URL.canParse(location, from.href) ? new URL(location, from) : null;
}

/** On a connection of its own, so that none is reused that was judged by other rules. */
async function get(target: URL, isNamed: boolean, signal: AbortSignal) {
  checkProtocol(target);
  if (target.username !== "" || target.password !== "") throw new ForbiddenAddressError("it holds user information");
  const host = hostOf(target);
  if (!isNamed && isIP(host) !== 0) judge(host, [host]);
  const lookup = isNamed ? undefined : lookupThat(judge);
  if (lookup !== undefined) await judgeBeforeProxy(target, lookup);
  const agent = createAgent({ connect: { timeout: CONNECT_MS, ...(lookup && { lookup }) } });
  try {
    return await undici().request(target, {
      dispatcher: agent,
      headers: { "user-agent": "showrunner", ...UNCODED },
      signal,
    });
  } finally {
    // Ends once the answer is read.
    void agent.close();
  }
}

function judge(host: string, addresses: readonly string[]): void {
  const bad = addresses.find((address) => reachOf(address) !== "public");
  if (bad === undefined) return;
  throw new ForbiddenAddressError(
    `${host}${bad === host ? "" : ` (${bad})`} is not on the open internet, and nobody but an input names it`,
  );
}

interface Forwarded {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Readable | null;
  readonly signal: AbortSignal;
}

/** Passes requests on to an address of the operator's, each as it came and its answer as it comes; no redirect is followed. */
export interface Forwarder {
  send(url: URL, request: Forwarded): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
}

export function createForwarder(): Forwarder {
  const agent = createAgent({ connect: { timeout: CONNECT_MS }, headersTimeout: 0, bodyTimeout: 0 });
  return {
    send: (url, { method, headers, body, signal }) =>
      undici().request(url, {
        dispatcher: agent,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body,
        signal,
      }),
    close: () => agent.destroy(),
  };
}
