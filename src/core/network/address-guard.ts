import { lookup as lookUp } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** External input contained an address to which this machine must not connect. */
export class ForbiddenAddressError extends Error {}

/** The URL is forbidden regardless of its target, so no option can allow it. */
export class ForbiddenUrlError extends ForbiddenAddressError {}

/** Blocks URLs in a service's responses that lead to this machine or its networks. */
export interface AddressGuard {
  check(url: string): void;
  /** Resolves the service's own host. The first result decides which private addresses are allowed. */
  readonly lookupOwn: LookupFunction;
  /** Resolves the host of a URL that came from a response. Fails if any of the host's addresses is forbidden. */
  readonly lookupNamed: LookupFunction;
}

/**
 * Creates a guard that allows public addresses. It also allows loopback addresses for a service on this machine, and
 * the service's own origin for a service on an internal network.
 */
export function createAddressGuard(base: { readonly origin: string }, resolve: typeof lookUp = lookUp): AddressGuard {
  const ownHost = hostOf(new URL(base.origin));
  let resolvedReach: Reach | null = null;
  const ownReach = () => {
    if (isIP(ownHost) !== 0) resolvedReach ??= reachOf(ownHost);
    return resolvedReach;
  };

  const judge = (host: string, addresses: readonly string[]) => {
    const bad = addresses.find((address) => {
      const reach = reachOf(address);
      if (reach === "public") return false;
      return ownReach() !== reach || (reach === "inside" && host !== ownHost);
    });
    if (bad === undefined) return;
    throw new ForbiddenAddressError(
      `${host}${bad === host ? "" : ` (${bad})`} is not a public address; URLs from the service at ${base.origin} must be public`,
    );
  };
  return {
    check(url) {
      const target = new URL(url);
      const host = hostOf(target);
      checkProtocol(target);
      if (isIP(host) !== 0) judge(host, [host]);
      if (ownReach() === "inside" && host === ownHost && target.origin !== base.origin) {
        throw new ForbiddenAddressError(
          `${target.origin} is on the service's host, but its port or protocol is different`,
        );
      }
    },
    lookupOwn: lookupThat((host, addresses) => {
      if (host === ownHost) resolvedReach ??= worst(addresses);
    }, resolve),
    lookupNamed: lookupThat((host, addresses) => {
      if (host === ownHost) resolvedReach ??= worst(addresses);
      judge(host, addresses);
    }, resolve),
  };
}

export function lookupThat(
  judge: (host: string, addresses: readonly string[]) => void,
  resolve: typeof lookUp = lookUp,
): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      try {
        if (error !== null) throw error;
        judge(
          host,
          found.map(({ address }) => address),
        );
        const [first] = found;
        if (options.all === true) done(null, found);
        else done(null, first?.address ?? "", first?.family);
      } catch (failure) {
        done(failure as Error, []);
      }
    });
  };
}

export function checkProtocol({ protocol }: URL): void {
  if (protocol === "http:" || protocol === "https:") return;
  throw new ForbiddenUrlError(`${protocol}// URLs cannot be fetched`);
}

export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function worst(addresses: readonly string[]): Reach {
  const reaches = addresses.map(reachOf);
  return (["inside", "loopback"] as const).find((reach) => reaches.includes(reach)) ?? "public";
}

export type Reach = "public" | "loopback" | "inside";

/**
 * IPv4 ranges for special purposes, such as private, link-local and multicast addresses. 168.63.129.16 is Azure's
 * platform address.
 */
const INSIDE_V4 = (
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
  "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3"
).split(" ");
/**
 * Ranges within 2000::/3, the range of public IPv6 addresses, that are not public: protocol assignments, documentation
 * and 6to4.
 */
const INSIDE_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
const NAT64 = "64:ff9b::";

const readSubnets = () => ({
  inside: subnets([...INSIDE_V4, ...INSIDE_V6, ...[...INSIDE_V4, "127.0.0.0/8"].map(translated)]),
  loopback: subnets(["127.0.0.0/8", "::1/128"]),
  routed: subnets(["0.0.0.0/0", "2000::/3", `${NAT64}/96`]),
});
let known: ReturnType<typeof readSubnets> | undefined;

/** Classifies an IPv4 or IPv6 address. Returns `inside` for any other text. */
export function reachOf(address: string): Reach {
  const bare = address.replace(/%.*$/, "");
  const version = isIP(bare);
  if (version === 0) return "inside";
  const family = version === 4 ? "ipv4" : "ipv6";
  known ??= readSubnets();
  const { inside, loopback, routed } = known;
  if (loopback.check(bare, family)) return "loopback";
  return routed.check(bare, family) && !inside.check(bare, family) ? "public" : "inside";
}

function subnets(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), isIP(network) === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

function translated(range: string): string {
  const [network, bits] = range.split("/");
  return `${NAT64}${network}/${96 + Number(bits)}`;
}
