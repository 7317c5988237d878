import { lookup as lookUp } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { type Reach, reachOf } from "./reach.ts";

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
  const own = hostOf(new URL(base.origin));
  /** Of the service; null: not known before its name is resolved. */
  let resolvedReach: Reach | null = null;
  const ownReach = () => {
    if (isIP(own) !== 0) resolvedReach ??= reachOf(own);
    return resolvedReach;
  };

  const judge = (host: string, addresses: readonly string[]) => {
    const bad = addresses.find((address) => {
      const reach = reachOf(address);
      if (reach === "public") return false;
      return ownReach() !== reach || (reach === "inside" && host !== own);
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
      if (ownReach() === "inside" && host === own && target.origin !== base.origin) {
        throw new ForbiddenAddressError(`${target.origin} is inside the service's network, and not the service itself`);
      }
    },
    lookupOwn: lookupThat((host, addresses) => {
      if (host === own) resolvedReach ??= worst(addresses);
    }, resolve),
    lookupNamed: lookupThat((host, addresses) => {
      if (host === own) resolvedReach ??= worst(addresses);
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
