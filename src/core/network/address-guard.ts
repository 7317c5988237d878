import { lookup as lookUp } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** An address that external input must not make this machine reach. */
export class ForbiddenAddressError extends Error {}

/** Keeps fetches of what a service names out of the networks that this machine stands in. */
export interface AddressGuard {
  /** Throws {@link ForbiddenAddressError} for what can be concluded from the URL alone. */
  check(url: string): void;
  /** Resolves the service's own name, and remembers where it led the first time. */
  readonly lookupOwn: LookupFunction;
  /** Resolves a name that the service said: the connection goes to the very address that was judged. */
  readonly lookupNamed: LookupFunction;
}

/**
 * Public addresses may be fetched from. Where the service itself is on this machine, so may any address of this machine;
 * where it is inside a network, so may its own origin there, and nothing else.
 */
export function createAddressGuard(base: { readonly origin: string }, resolve: typeof lookUp = lookUp): AddressGuard {
  const ownHost = hostOf(new URL(base.origin));
  /** Of the service; null: not known before its name is resolved. */
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
      `${host}${bad === host ? "" : ` (${bad})`} is not on the open internet, and the service at ${base.origin} has no business there`,
    );
  };
  return {
    check(url) {
      const target = new URL(url);
      const host = hostOf(target);
      checkProtocol(target);
      if (isIP(host) !== 0) judge(host, [host]);
      if (ownReach() === "inside" && host === ownHost && target.origin !== base.origin) {
        throw new ForbiddenAddressError(`${target.origin} is inside the service's network, and not the service itself`);
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

/** Resolves names, and connects to the very addresses that `judge` let pass: it throws for one that must not be reached. */
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

/** @throws ForbiddenAddressError */
export function checkProtocol({ protocol }: URL): void {
  if (protocol === "http:" || protocol === "https:") return;
  throw new ForbiddenAddressError(`${protocol}// is no address to fetch from`);
}

/** As it is resolved: without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function worst(addresses: readonly string[]): Reach {
  const reaches = addresses.map(reachOf);
  return (["inside", "loopback"] as const).find((reach) => reaches.includes(reach)) ?? "public";
}

/** Where an address leads: the open internet, this machine, or a place inside a network. */
export type Reach = "public" | "loopback" | "inside";

/** Private, shared, link-local (metadata services too), reserved, documentation, multicast. */
const INSIDE_V4 = (
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
  "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3"
).split(" ");
/** Within the one range that is routed: protocol assignments and Teredo, documentation, 6to4. */
const INSIDE_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
const NAT64 = "64:ff9b::";

const readSubnets = () => ({
  inside: subnets([...INSIDE_V4, ...INSIDE_V6, ...[...INSIDE_V4, "127.0.0.0/8"].map(translated)]),
  loopback: subnets(["127.0.0.0/8", "::1/128"]),
  routed: subnets(["0.0.0.0/0", "2000::/3", `${NAT64}/96`]),
});
let known: ReturnType<typeof readSubnets> | undefined;

/** Judges an IPv4 or IPv6 address as text; anything else leads nowhere that may be reached. */
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

/** The IPv6 range that a gateway translates to the IPv4 range. */
function translated(range: string): string {
  const [network, bits] = range.split("/");
  return `${NAT64}${network}/${96 + Number(bits)}`;
}
