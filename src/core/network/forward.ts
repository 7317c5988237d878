import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { CONNECT_MS, undici } from "./undici.ts";

export interface Forwarded {
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
  const agent = new (undici().Agent)({ connect: { timeout: CONNECT_MS }, headersTimeout: 0, bodyTimeout: 0 });
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
