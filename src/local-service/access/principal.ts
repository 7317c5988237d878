export const SCOPES = [
  "jobs:read",
  "jobs:write",
  "models:read",
  "files:write",
  "webhooks:manage",
  "log_drains:manage",
  "usage:read",
  "keys:manage",
  "chat:write",
] as const;

/** A permission of a key or token. */
export type Scope = (typeof SCOPES)[number];

/** The scopes that a token can have. Managing keys is excluded: a key that a token creates could outlive the token. */
export const TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "keys:manage");

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}

/** Parses the `scopes` column of a key or token, which is JSON; null means every scope. */
export function parseScopes(text: string | null): readonly Scope[] | null {
  if (text === null) return null;
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed.filter(isScope) : [];
}

/** The intersection of two sets of scopes; null means every scope. */
export function intersect(a: readonly Scope[] | null, b: readonly Scope[] | null): readonly Scope[] | null {
  if (a === null) return b;
  return b === null ? a : a.filter((scope) => b.includes(scope));
}

/** The sender of a request. Jobs, assets and voices belong to its owner; money and keys belong to its workspace. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  /** Null means every scope. */
  readonly scopes: readonly Scope[] | null;
  /** The credential used: the key's current secret, a rotated-out secret in its grace period, or a token of the key. */
  readonly via: "secret" | "previous-secret" | "token";
  /** When the credential expires, in milliseconds; null means never. Credentials created with it expire no later. */
  readonly expiresAt: number | null;
}

/** The earlier of two expiries; null means never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
