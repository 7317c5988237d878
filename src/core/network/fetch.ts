import { AsyncLocalStorage } from "node:async_hooks";
import type { Agent as HttpAgent, IncomingHttpHeaders } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { createRequire } from "node:module";
import { isIP, type LookupFunction } from "node:net";
import { PassThrough, pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib";
import type { Agent, Dispatcher } from "undici";
import { isProxyNamed, proxyForNode, routeOf } from "../kit/proxy-route.ts";
import {
  checkProtocol,
  ForbiddenAddressError,
  ForbiddenUrlError,
  hostOf,
  lookupThat,
  reachOf,
} from "./address-guard.ts";

export const MOST_REDIRECTS = 5;

/**
 * Sends a request to an address that the operator configured. Redirects are not followed, because the operator did not
 * choose their targets.
 */
export function fetchForOperator(url: string | URL, init: Omit<RequestInit, "redirect">): Promise<Response> {
  return withRoutes(() => fetch(url, { ...init, redirect: "manual" }));
}

interface Fetched {
  readonly status: number;
  /** The decoded body. The caller must read or destroy it. */
  readonly body: Readable;
}

interface InputFetch {
  readonly inside: readonly string[];
  readonly signal: AbortSignal;
}

/** Fetches a URL from an input. Throws ForbiddenAddressError unless the URL is public or its origin is in `inside`. */
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

/**
 * Maximum time, in milliseconds, to look up a host on this machine before sending a request through a proxy. The lookup
 * can be slow on a network without public DNS.
 */
const OWN_LOOKUP_MS = 2_000;

/** Creates an agent that uses the environment's proxies. `connect` applies only to direct connections. */
export function createAgent(options: Agent.Options): Agent {
  const { Agent, Pool, ProxyAgent } = undici();
  return new Agent({
    ...options,
    factory: (origin, { connect, ...given }: Agent.Options) => {
      const { proxy } = routeOf(new URL(origin));
      if (proxy === null) return new Pool(origin, { ...given, ...(connect && { connect }) });
      return new ProxyAgent({ ...given, uri: proxy.url.href, connectTimeout: CONNECT_MS });
    },
  });
}

/**
 * Checks a host's addresses before a proxy connects to it, if this machine can resolve the host.
 * @throws ForbiddenAddressError
 */
export async function judgeBeforeProxy(target: URL, lookup: LookupFunction): Promise<void> {
  const host = hostOf(target);
  if (isIP(host) !== 0 || routeOf(target).proxy === null) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, OWN_LOOKUP_MS);
  lookup(host, { all: true }, (error) => (error instanceof ForbiddenAddressError ? reject(error) : resolve()));
  await promise.finally(() => clearTimeout(timer));
}

const ours = new AsyncLocalStorage<Agent>();
let shared: Agent | undefined;

/** Makes Node's global `fetch` use the proxies from the environment variables while `work` runs. */
export function withRoutes<T>(work: () => T): T {
  if (!isProxyNamed()) return work();
  if (shared === undefined) {
    const { getGlobalDispatcher, setGlobalDispatcher } = undici();
    shared = createAgent({ connect: { timeout: CONNECT_MS }, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
    const isDefault = [1, 2].every((version) => {
      const set = (globalThis as Record<symbol, unknown>)[Symbol.for(`undici.globalDispatcher.${version}`)];
      return set === undefined || /^(Agent|Dispatcher1Wrapper)$/.test((set as object).constructor.name);
    });
    const routed = getGlobalDispatcher().compose((dispatch) => (options, handler) => {
      const agent = ours.getStore();
      return agent === undefined ? dispatch(options, handler) : agent.dispatch(options, handler);
    });
    if (isDefault) setGlobalDispatcher(routed);
  }
  return ours.run(shared, work);
}

export function proxyAgents(target: URL): { readonly httpAgent?: HttpAgent; readonly httpsAgent?: HttpsAgent } {
  const proxyEnv = proxyForNode(target);
  if (proxyEnv === null) return {};
  const options = { keepAlive: true, proxyEnv };
  // Do not import node:http. An import takes 40 ms, because it loads everything that the module exports.
  const [http, https] = [process.getBuiltinModule("node:http"), process.getBuiltinModule("node:https")];
  return { httpAgent: new http.Agent(options), httpsAgent: new https.Agent(options) };
}

type Coding = "gzip" | "br" | "deflate" | "zstd";

/** Asks for an unencoded body. Some servers send an encoded one anyway. */
export const UNCODED = { "accept-encoding": "identity" } as const;

export function codingsOf(headers: IncomingHttpHeaders): readonly Coding[] {
  const names = String(headers["content-encoding"] ?? "")
    .toLowerCase()
    .split(",");
  return names.flatMap((name): readonly Coding[] => {
    const coding = name.trim().replace(/^x-(?=gzip$)/, "");
    return isCoding(coding) ? [coding] : [];
  });
}

function isCoding(name: string): name is Coding {
  return name === "gzip" || name === "br" || name === "deflate" || name === "zstd";
}

/** Decodes a body. The reader must limit the size, because a small body may decode to any amount of data. */
export function decodedBody(body: Readable, codings: readonly Coding[]): Readable {
  return codings.toReversed().reduce((coded, coding) => {
    const decoded = new PassThrough();
    pipeline(
      coded,
      (bytes: AsyncIterable<Buffer>) => decode(bytes, coding),
      decoded,
      () => {},
    );
    return decoded;
  }, body);
}

const MAGIC_BYTES = 4;

async function* decode(bytes: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const rest = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let isOver = false;
  while (head.length < MAGIC_BYTES && !isOver) {
    const next = await rest.next();
    isOver = next.done === true;
    if (!isOver) head = Buffer.concat([head, next.value]);
  }
  const all = async function* () {
    if (head.length > 0) yield head;
    if (!isOver) yield* { [Symbol.asyncIterator]: () => rest };
  };
  const decoder = decoderFor(coding, head);
  if (decoder === null) yield* all();
  else yield* pipeline(all, decoder, () => {}) as AsyncIterable<Buffer>;
}

/**
 * Creates a decoder for a body. Returns null if `head` shows that the body is not encoded, for example because a proxy
 * has already decoded it.
 */
function decoderFor(coding: Coding, head: Buffer): Transform | null {
  switch (coding) {
    case "gzip":
      return head[0] === 0x1f && head[1] === 0x8b ? createGunzip() : null;
    case "zstd":
      return head.length >= MAGIC_BYTES && head.readUInt32LE() === 0xfd2fb528 ? createZstdDecompress() : null;
    case "br":
      return createBrotliDecompress();
    case "deflate": {
      // Many servers omit the zlib header that the standard requires.
      const isWrapped = head.length > 1 && (head[0]! & 0x0f) === 8 && head.readUInt16BE() % 31 === 0;
      return isWrapped ? createInflate() : createInflateRaw();
    }
    default:
      return coding satisfies never;
  }
}

const load = createRequire(import.meta.url);

/** Loads undici only at the first request, because it accounts for half of the client's load time. */
export const undici = () => load("undici") as typeof import("undici");

const CONNECT_MS = 10_000;
