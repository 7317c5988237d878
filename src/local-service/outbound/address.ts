import { isIPv4, isIPv6 } from "node:net";

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

/** Prefixes whose last 32 bits are an embedded IPv4 address: IPv4-mapped, and translated by NAT64. */
const MAPPED_V4 = ["::ffff:0:0", 96] as const;
const NAT64 = ["64:ff9b::", 96] as const;

function bytesOfV4(address: string): number[] {
  return address.split(".").map(Number);
}

function groups(part: string): number[] {
  return part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
}

function bytesOfV6(address: string): number[] {
  const plain = (address.split("%")[0] ?? "").replace(/\d+\.\d+\.\d+\.\d+$/, (tail) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytesOfV4(tail);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = "", tail] = plain.split("::");
  const before = groups(head);
  const after = groups(tail ?? "");
  const zeros = tail === undefined ? [] : new Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

function lies(bytes: readonly number[], network: readonly number[], prefix: number): boolean {
  return network.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    const mask = (0xff << (8 - bits)) & 0xff;
    return ((bytes[index] ?? 0) & mask) === (byte & mask);
  });
}

function kindOfV4(bytes: readonly number[]): AddressKind {
  if (bytes[0] === 127) return "loopback";
  return BLOCKED_V4.some(([network, prefix]) => lies(bytes, bytesOfV4(network), prefix)) ? "blocked" : "public";
}

function kindOfV6(bytes: readonly number[]): AddressKind {
  const isIn = ([network, prefix]: readonly [string, number]) => lies(bytes, bytesOfV6(network), prefix);
  if (isIn(["::1", 128])) return "loopback";
  if (isIn(MAPPED_V4)) return kindOfV4(bytes.slice(12));
  if (isIn(NAT64)) return kindOfV4(bytes.slice(12)) === "public" ? "public" : "blocked";
  return isIn(["2000::", 3]) && !BLOCKED_V6.some(isIn) ? "public" : "blocked";
}

/** Classifies an IPv4 or IPv6 address given as text; anything else is blocked. */
export function kindOfAddress(address: string): AddressKind {
  if (isIPv4(address)) return kindOfV4(bytesOfV4(address));
  return isIPv6(address) ? kindOfV6(bytesOfV6(address)) : "blocked";
}
