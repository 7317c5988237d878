import { createRequire } from "node:module";
import type { LookupFunction } from "node:net";
import type { Agent, Dispatcher } from "undici";
import type { AddressGuard } from "../files/address-guard.ts";

const load = createRequire(import.meta.url);

/** Loaded at the first request: it would be half of what loading the client takes. */
export const undici = () => load("undici") as typeof import("undici");

/** What one request did to the network, set by the transport as it happens. */
export interface SendMark {
  /** True once a connection was there and the request began to leave this machine. */
  sent: boolean;
}

/** The connections of one client: short requests and long ones (streams, downloads) do not share a pool. */
export interface Transport {
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
  /** Fetches of what the service names; it connects to no address that the guard refuses. */
  readonly downloads: Dispatcher;
  readonly guard: AddressGuard;
  close(): Promise<void>;
}

/** Marks the moment a request is handed to a connected socket; only before it is a failure certainly harmless. */
const markSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const mark = (options as { readonly opaque?: unknown }).opaque as SendMark | undefined;
  const begin = handler.onRequestStart?.bind(handler);
  handler.onRequestStart = (controller, context) => {
    if (mark) mark.sent = true;
    begin?.(controller, context);
  };
  return dispatch(options, handler);
};

/** Time limits use the client's clock, so undici's own are off except for connecting. */
const agentOptions: Agent.Options = {
  allowH2: false,
  pipelining: 1,
  keepAliveTimeout: 4_000,
  headersTimeout: 0,
  bodyTimeout: 0,
};
const connectMs = 10_000;

/**
 * Own agents over HTTP/1.1 with keep-alive; a dispatcher that the caller gives is used as it is and never closed. It
 * resolves names by itself, so that of what the service names only addresses without a name are judged.
 */
export function createTransport(guard: AddressGuard, given?: Dispatcher): Transport {
  if (given) {
    const streams = given.compose(markSent);
    return { requests: given, streams, downloads: streams, guard, close: async () => {} };
  }
  const agents: Agent[] = [];
  let isClosed = false;
  const agentWith = (lookup: LookupFunction) => {
    const agent = new (undici().Agent)({ ...agentOptions, connect: { timeout: connectMs, lookup } });
    agents.push(agent);
    if (isClosed) void agent.destroy();
    return agent;
  };
  let requests: Dispatcher | undefined;
  let streams: Dispatcher | undefined;
  let downloads: Dispatcher | undefined;
  return {
    get requests() {
      requests ??= agentWith(guard.lookupOwn);
      return requests;
    },
    get streams() {
      streams ??= agentWith(guard.lookupOwn).compose(markSent);
      return streams;
    },
    get downloads() {
      downloads ??= agentWith(guard.lookupNamed).compose(markSent);
      return downloads;
    },
    guard,
    close: async () => {
      isClosed = true;
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
