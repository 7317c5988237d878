import { BlockList, isIP } from "node:net";

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
