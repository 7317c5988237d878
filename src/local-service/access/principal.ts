import type { Scope } from "./scopes.ts";

/** Who sent a request. Jobs, assets and voices belong to the owner, money and keys to the workspace. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  /** Null means every scope. */
  readonly scopes: readonly Scope[] | null;
  /** The credential used: the key's current secret, a rotated-out one in its grace period, or a token of the key. */
  readonly via: "secret" | "previous-secret" | "token";
  /** When the credential expires, in milliseconds; null for never. Credentials that it creates expire no later. */
  readonly expiresAt: number | null;
}

/** The earlier of two expiries; null means never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
