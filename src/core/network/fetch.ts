import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import {
  checkProtocol,
  ForbiddenAddressError,
  ForbiddenUrlError,
  hostOf,
  lookupThat,
  reachOf,
} from "./address-guard.ts";
import { codingsOf, decodedBody, UNCODED } from "./content-coding.ts";
import { createAgent, judgeBeforeProxy, withRoutes } from "./proxy.ts";
import { CONNECT_MS, undici } from "./undici.ts";

export const MOST_REDIRECTS = 5;

/**
 * Sends a request to an address that the operator configured. Redirects are not followed: the operator did not choose
 * their target.
 */
export function fetchForOperator(url: string | URL, init: Omit<RequestInit, "redirect">): Promise<Response> {
  return withRoutes(() => fetch(url, { ...init, redirect: "manual" }));
}

export interface Fetched {
  readonly status: number;
  /** The decoded body. The caller must read or destroy it. */
  readonly body: Readable;
}

export interface InputFetch {
  readonly inside: readonly string[];
  readonly signal: AbortSignal;
}

/** Fetches a URL from an input, which must be public or have an origin in `inside`. @throws ForbiddenAddressError */
export async function fetchForInput(url: string, { inside, signal }: InputFetch): Promise<Fetched> {
  let target = new URL(url);
  let isNamed = inside.includes(target.origin);
  for (let redirects = 0; ; redirects += 1) {
    const { statusCode: status, headers, body } = await get(target, isNamed, signal);
    const next = redirectTarget(target, status, headers);
    if (next === null) return { status, body: decodedBody(body, codingsOf(headers)) };
    body.on("error", () => {}).destroy();
    if (redirects === MOST_REDIRECTS) throw new Error(`it redirected more than ${MOST_REDIRECTS} times`);
    isNamed &&= next.origin === target.origin;
    target = next;
  }
}

export function redirectTarget(from: URL, status: number, { location }: IncomingHttpHeaders): URL | null {
  const isRedirect = [301, 302, 303, 307, 308].includes(status) && typeof location === "string";
  return isRedirect && URL.canParse(location, from.href) ? new URL(location, from) : null;
}

async function get(target: URL, isNamed: boolean, signal: AbortSignal) {
  checkProtocol(target);
  if (target.username !== "" || target.password !== "")
    throw new ForbiddenUrlError("it contains a user name or password");
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
    // The agent closes once the response is read.
    void agent.close();
  }
}

function judge(host: string, addresses: readonly string[]): void {
  const bad = addresses.find((address) => reachOf(address) !== "public");
  if (bad === undefined) return;
  throw new ForbiddenAddressError(
    `${host}${bad === host ? "" : ` (${bad})`} is not a public address; inputs can use only public addresses`,
  );
}

interface Forwarded {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Readable | null;
  readonly signal: AbortSignal;
}

/** Forwards requests to an address that the operator configured, without following redirects. */
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
