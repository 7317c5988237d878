import { own } from "../../kit/own.ts";
import { ConnectionError, TimeoutError } from "../errors/client-errors.ts";
import type { Exchange } from "./transport.ts";

/** The thrown form of a request that got no answer. */
export function lostError(
  lost: Extract<Exchange, { kind: "lost" }>,
  request: { readonly method: string; readonly path: string; readonly origin: string; readonly timeoutMs: number },
): ConnectionError | TimeoutError {
  const what = `${request.method} ${request.path}`;
  if (lost.timedOut) {
    return new TimeoutError(`${what} got no complete answer within ${request.timeoutMs} ms`, {
      timeoutMs: request.timeoutMs,
      sent: lost.sent,
      cause: lost.cause,
    });
  }
  const reason = lost.cause instanceof Error ? (codeOf(lost.cause) ?? lost.cause.message) : String(lost.cause);
  const host = request.origin.replace(/^\w+:\/\//, "");
  const message = lost.sent
    ? `${what} lost its connection to ${request.origin} before the answer was complete (${reason})`
    : `${what} could not reach ${request.origin}: ${sayFailure(transportFailure(lost.cause), host, lost.cause)}; is the service running and the base URL right?`;
  return new ConnectionError(message, { sent: lost.sent, cause: lost.cause });
}

/** Why there was no connection, or none any more. */
export type TransportFailure = "dns" | "refused" | "network" | "tls" | "proxy" | "connect timeout" | "broken";

const byCode: Readonly<Record<string, TransportFailure>> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_FAIL: "dns",
  EAI_NODATA: "dns",
  EAI_NONAME: "dns",
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "network",
  EHOSTDOWN: "network",
  ENETUNREACH: "network",
  ENETDOWN: "network",
  EADDRNOTAVAIL: "network",
  ETIMEDOUT: "connect timeout",
  UND_ERR_CONNECT_TIMEOUT: "connect timeout",
  EPROTO: "tls",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls",
  SELF_SIGNED_CERT_IN_CHAIN: "tls",
  HOSTNAME_MISMATCH: "tls",
  INVALID_CA: "tls",
  UND_ERR_PRX_TLS: "tls",
  UND_ERR_PRX_CONN: "proxy",
};
const tlsCode = /^(?:ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_)/;
/** How undici words a proxy that makes no tunnel; it has no code of its own. */
const noTunnel = /Proxy response|HTTP Tunneling/i;

/** Tells DNS, TLS, proxy and the network apart by the cause that Node or undici gives. */
export function transportFailure(cause: unknown): TransportFailure {
  const code = codeOf(cause);
  if (cause instanceof Error && noTunnel.test(cause.message)) return "proxy";
  if (code === null) return "broken";
  return own(byCode, code) ?? (tlsCode.test(code) ? "tls" : "broken");
}

/** The code of an error, or of what it was caused by. */
export function codeOf(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code === "string") return code;
  }
  return null;
}

const words: Readonly<Record<TransportFailure, (host: string) => string>> = {
  dns: (host) => `the name ${host} was not found (DNS)`,
  refused: (host) => `nothing listens at ${host} (connection refused)`,
  network: (host) => `there is no way to ${host} from this network`,
  tls: (host) => `no TLS connection to ${host}: its certificate or protocol was not accepted`,
  proxy: (host) => `the proxy made no tunnel to ${host}`,
  "connect timeout": (host) => `${host} took no connection in time`,
  broken: (host) => `the connection to ${host} broke`,
};

/** One clause for people, with the code in brackets where there is one. */
export function sayFailure(failure: TransportFailure, host: string, cause: unknown): string {
  const code = codeOf(cause) ?? (cause instanceof Error ? cause.message : null);
  return `${words[failure](host)}${code === null ? "" : ` [${code}]`}`;
}
