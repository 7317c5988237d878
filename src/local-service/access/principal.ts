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

/** The scopes that a token may have. A token cannot manage keys, because a key that it creates could outlive it. */
export const TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "keys:manage");

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}

/** Parses a stored list of scopes. Null means every scope. */
export function parseScopes(text: string | null): readonly Scope[] | null {
  if (text === null) return null;
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed.filter(isScope) : [];
}

/** Returns the scopes that both lists contain. Null means every scope. */
export function intersect(a: readonly Scope[] | null, b: readonly Scope[] | null): readonly Scope[] | null {
  if (a === null) return b;
  return b === null ? a : a.filter((scope) => b.includes(scope));
}

/**
 * The sender of a request. Jobs, assets and voices belong to the sender's owner, and money and keys to the workspace.
 */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  /** Scopes of the sender. Null means every scope. */
  readonly scopes: readonly Scope[] | null;
  /** `previous-secret` is a rotated-out secret in its grace period. */
  readonly via: "secret" | "previous-secret" | "token";
  /** Expiry of the credential. Null means never. */
  readonly expiresAt: number | null;
}

/** Returns the earlier of two times. Null means never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
