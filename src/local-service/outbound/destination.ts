import { isIP } from "node:net";
import { kindOfAddress } from "./address.ts";

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

/** The pinned destination of a POST: the connection uses this address without resolving the name again. */
export type Destination =
  | { readonly is: "open"; readonly url: URL; readonly to: ResolvedAddress }
  | { readonly is: "blocked" }
  | { readonly is: "unresolved" };

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
  const [to] = found;
  if (!to) return { is: "unresolved" };
  return found.every((address) => mayReach(url, address, rules)) ? { is: "open", url, to } : BLOCKED;
}
