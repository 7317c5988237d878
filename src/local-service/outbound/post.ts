import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Destination } from "./destination.ts";
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
