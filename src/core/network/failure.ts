import { ProxyVariableError, type Route, routeOf, shownProxy } from "../kit/proxy-route.ts";

export type TransportFailure = "dns" | "refused" | "network" | "tls" | "proxy" | "connect timeout" | "broken";

const codes: readonly (readonly [RegExp, TransportFailure])[] = [
  [/^(?:ENOTFOUND|EAI_\w+)$/, "dns"],
  [/^ECONNREFUSED$/, "refused"],
  [/^(?:E(?:HOST|NET)(?:UNREACH|DOWN)|EADDRNOTAVAIL)$/, "network"],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "connect timeout"],
  [/^UND_ERR_PRX_CONN$/, "proxy"],
  [/^(?:EPROTO|HOSTNAME_MISMATCH|INVALID_CA|UND_ERR_PRX_TLS|\w*SELF_SIGNED_CERT\w*)$/, "tls"],
  [/^(?:ERR_TLS|ERR_SSL|CERT|CRL|UNABLE_TO)_/, "tls"],
];
/** Matches undici's messages about a proxy that refuses a tunnel, because these errors have no code. */
const noTunnel = /Proxy response|HTTP Tunneling/i;

export function transportFailure(cause: unknown): TransportFailure {
  const code = codeOf(cause);
  if (isTunnelRefused(cause)) return "proxy";
  if (code === null) return "broken";
  return codes.find(([pattern]) => pattern.test(code))?.[1] ?? "broken";
}

export function isTunnelRefused(error: unknown): boolean {
  return causesOf(error).some(({ message }) => noTunnel.test(message));
}

export function codeOf(error: unknown): string | null {
  const codes = causesOf(error).map((cause) => (cause as { readonly code?: unknown }).code);
  return codes.find((code) => typeof code === "string") ?? null;
}

function causesOf(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let cause = error; cause instanceof Error && found.length < 5; cause = cause.cause) found.push(cause);
  return found;
}

const words: Readonly<Record<TransportFailure, (host: string) => string>> = {
  dns: (host) => `the name ${host} was not found (DNS)`,
  refused: (host) => `nothing listens at ${host} (connection refused)`,
  network: (host) => `${host} cannot be reached from this network`,
  tls: (host) => `the TLS connection to ${host} failed: the server's certificate or protocol was not accepted`,
  proxy: (host) => `the proxy refused to open a tunnel to ${host}`,
  "connect timeout": (host) => `${host} did not accept a connection in time`,
  broken: (host) => `the connection to ${host} broke`,
};

export function unreached(error: unknown, address: string): string | null {
  const isOther = transportFailure(error) === "broken" && !(error instanceof ProxyVariableError);
  return isOther ? null : [unreachedReason(error, address), environmentAdvice(error, address) ?? []].flat().join("; ");
}

export function unreachedReason(cause: unknown, address: string): string {
  if (cause instanceof ProxyVariableError) return cause.message;
  const failure = transportFailure(cause);
  const { proxy } = routeTo(address);
  const host = proxy !== null && beforeAnyTunnel.has(failure) ? proxy.url.host : new URL(address).host;
  const code = codeOf(cause) ?? (cause instanceof Error ? cause.message : null);
  return `${words[failure](host)}${code === null ? "" : ` [${code}]`}`;
}

const beforeAnyTunnel: ReadonlySet<TransportFailure> = new Set(["dns", "refused", "network", "connect timeout"]);

/** Returns advice if the environment, such as a proxy variable, may have caused the failure; otherwise null. */
export function environmentAdvice(cause: unknown, address: string): string | null {
  const failure = transportFailure(cause);
  if (failure === "tls") {
    const { NODE_EXTRA_CA_CERTS: file } = process.env;
    return file
      ? `check that ${file}, set in NODE_EXTRA_CA_CERTS, contains the CA certificate that signed the server's certificate`
      : "if a proxy or the service uses a private certificate authority, set NODE_EXTRA_CA_CERTS=authority.pem, or NODE_USE_SYSTEM_CA=1 if this machine trusts that authority";
  }
  const { proxy, exceptedBy } = routeTo(address);
  const { host } = new URL(address);
  if (failure === "proxy" && proxy !== null) {
    const status = /\((\d{3})\)/.exec(causesOf(cause).join("\n"))?.[1];
    return status === "407"
      ? `the proxy ${shownProxy(proxy)} requires a user name and password: set them in ${proxy.variable} as USER:PASSWORD@${proxy.url.host}`
      : `the proxy ${shownProxy(proxy)} ${status === undefined ? "closed the connection" : `answered ${status}`}; allow ${host} in the proxy, or add it to NO_PROXY`;
  }
  if (!beforeAnyTunnel.has(failure)) return null;
  if (proxy !== null)
    return `requests to ${host} go through the proxy ${shownProxy(proxy)}; if that is wrong, add ${host} to NO_PROXY`;
  return exceptedBy === null ? null : `requests to ${host} bypass the proxy because of ${exceptedBy}`;
}

/** Returns the route to an address. Ignores an invalid proxy variable, because the request itself reports it. */
function routeTo(address: string): Route {
  try {
    return routeOf(new URL(address));
  } catch {
    return { proxy: null, exceptedBy: null };
  }
}
