import { BlockList, isIP, isIPv4 } from "node:net";

/** Class of an address: public, this machine, or forbidden for addresses that callers name. */
export type AddressKind = "public" | "loopback" | "blocked";

/** [network, prefix length]: private, shared, link-local (metadata services too), reserved, documentation, multicast. */
const BLOCKED_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["168.63.129.16", 32], // a cloud's platform service on a public-looking address
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/** Within 2000::/3, the only globally routed range: protocol assignments and Teredo, documentation, 6to4. */
const BLOCKED_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

/** Addresses whose last 32 bits are an IPv4 address: translated by NAT64. */
const NAT64 = "64:ff9b::";

function listOf(...networks: readonly (readonly [network: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, isIPv4(network) ? "ipv4" : "ipv6");
  return list;
}

const LOOPBACK = listOf(["127.0.0.0", 8], ["::1", 128]);
const BLOCKED_RANGES = listOf(...BLOCKED_V4, ...BLOCKED_V6);
/** Routed, or an IPv4 address in the notation of IPv6, which a list compares with its IPv4 networks. */
const ROUTED_V6 = listOf(["2000::", 3], ["::ffff:0:0", 96]);

/** The IPv4 address that NAT64 translates to; null for other addresses. */
function translated(address: string): string | null {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  if (!plain.startsWith(NAT64)) return null;
  const [low = 0, high = 0] = plain
    .slice(NAT64.length)
    .split(":")
    .map((group) => Number.parseInt(group || "0", 16))
    .reverse();
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Classifies an IPv4 or IPv6 address given as text; anything else is blocked. */
export function kindOfAddress(text: string): AddressKind {
  const address = text.split("%")[0] ?? "";
  if (!isIP(address)) return "blocked";
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  if (LOOPBACK.check(address, family)) return "loopback";
  const inner = family === "ipv6" ? translated(address) : null;
  if (inner !== null) return kindOfAddress(inner) === "public" ? "public" : "blocked";
  const isOpen = (family === "ipv4" || ROUTED_V6.check(address, family)) && !BLOCKED_RANGES.check(address, family);
  return isOpen ? "public" : "blocked";
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a host to all its addresses. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

/** Addresses that are allowed besides public ones. */
export interface DestinationRules {
  readonly allowLoopback: boolean;
  /** The service's own port, refused so that the service cannot call itself. */
  ownPort(): number;
}

/** The pinned destination of a POST: the connection uses these addresses without resolving the name again. */
export type Destination =
  | { readonly is: "open"; readonly url: URL; readonly to: readonly [ResolvedAddress, ...ResolvedAddress[]] }
  | { readonly is: "blocked" }
  | { readonly is: "unresolved"; readonly url: URL };

const BLOCKED: Destination = { is: "blocked" };

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function mayReach(url: URL, { address }: ResolvedAddress, rules: DestinationRules): boolean {
  const kind = kindOfAddress(address);
  if (kind !== "loopback") return kind === "public";
  return rules.allowLoopback && portOf(url) !== rules.ownPort();
}

async function addressesOf(url: URL, resolve: Resolve): Promise<readonly ResolvedAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  return family === 0 ? resolve(host) : [{ address: host, family }];
}

/** Checks a URL when it is about to be used. One forbidden address among a host's addresses refuses it. */
export async function findDestination(text: string, resolve: Resolve, rules: DestinationRules): Promise<Destination> {
  if (!URL.canParse(text)) return BLOCKED;
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return BLOCKED;
  const found = await addressesOf(url, resolve).catch(() => []);
  const [first, ...others] = found;
  if (!first) return { is: "unresolved", url };
  return found.every((address) => mayReach(url, address, rules))
    ? { is: "open", url, to: [first, ...others] }
    : BLOCKED;
}
