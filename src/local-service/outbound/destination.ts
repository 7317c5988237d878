import { isIP } from "node:net";
import { kindOfAddress } from "./address.ts";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Asks the name service for every address of a host. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

/** Which addresses may be reached besides public ones. */
export interface DestinationRules {
  readonly allowLoopback: boolean;
  /** The service's own port: what it receives must not come from itself. */
  ownPort(): number;
}

/** Where a POST goes, decided once: the connection uses this address and asks no name service again. */
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

/** Checks a URL at the moment of sending. One forbidden address among a host's addresses is enough to refuse it. */
export async function findDestination(text: string, resolve: Resolve, rules: DestinationRules): Promise<Destination> {
  if (!URL.canParse(text)) return BLOCKED;
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return BLOCKED;
  const found = await addressesOf(url, resolve).catch(() => []);
  const [to] = found;
  if (!to) return { is: "unresolved" };
  return found.every((address) => mayReach(url, address, rules)) ? { is: "open", url, to } : BLOCKED;
}
