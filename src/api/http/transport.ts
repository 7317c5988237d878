import { Agent, type Dispatcher } from "undici";
import type { AddressGuard } from "../files/address-guard.ts";

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
  const own = { ...agentOptions, connect: { timeout: connectMs, lookup: guard.lookupOwn } };
  const requests = new Agent(own);
  const streams = new Agent(own);
  const downloads = new Agent({ ...agentOptions, connect: { timeout: connectMs, lookup: guard.lookupNamed } });
  return {
    requests,
    streams: streams.compose(markSent),
    downloads: downloads.compose(markSent),
    guard,
    close: async () => {
      await Promise.all([requests.destroy(), streams.destroy(), downloads.destroy()]);
    },
  };
}
