import type { Scope } from "./scopes.ts";

/** Who sent a request. Jobs, assets and voices belong to the owner, money and keys to the workspace. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  /** Null means every scope. */
  readonly scopes: readonly Scope[] | null;
  /** A short-lived token stands in for its key. */
  readonly viaToken: boolean;
}
