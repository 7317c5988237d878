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

/** A token cannot manage keys, because a key that it creates could outlive it. */
export const TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "keys:manage");

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}

export function parseScopes(text: string | null): readonly Scope[] | null {
  if (text === null) return null;
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed.filter(isScope) : [];
}

export function intersect(a: readonly Scope[] | null, b: readonly Scope[] | null): readonly Scope[] | null {
  if (a === null) return b;
  return b === null ? a : a.filter((scope) => b.includes(scope));
}

/** Jobs, media and voices belong to `ownerId`; money and keys belong to `workspaceId`. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly scopes: readonly Scope[] | null;
  /** `previous-secret` means a secret that was replaced by rotation and is still valid for a short time. */
  readonly via: "secret" | "previous-secret" | "token";
  readonly expiresAt: number | null;
}

export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
