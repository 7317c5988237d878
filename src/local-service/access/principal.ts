import type { Scope } from "./scopes.ts";

/** Who sent a request. Jobs, assets and voices belong to the owner, money and keys to the workspace. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  /** Null means every scope. */
  readonly scopes: readonly Scope[] | null;
  /** What was shown: the key's secret, one that was rotated out and is in its grace period, or a token of the key. */
  readonly via: "secret" | "previous-secret" | "token";
  /** When the credential shown ceases to work, in milliseconds; null for never. What it makes lives no longer. */
  readonly expiresAt: number | null;
}

/** The earlier of two ends; null stands for never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
