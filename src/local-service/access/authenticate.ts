import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../clock/clock.ts";
import { type Refusal, refuse, refuseForNow } from "../http/refusal.ts";
import type { KeyRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";

type Credential =
  | { readonly is: "key"; readonly keyId: string; readonly secret: string }
  | { readonly is: "token"; readonly token: string };

export const TOKEN_PREFIX = "tok_";
const FORM = /^(key|bearer) +(\S+)$/i;

/** Parses `Key <id>:<secret>`, `Bearer <id>:<secret>` or `Bearer <token>`. */
function parseAuthorization(header: string | null): Credential | null {
  const match = header === null ? null : FORM.exec(header.trim());
  if (!match) return null;
  const [, scheme, value] = match as unknown as [string, string, string];
  const colon = value.indexOf(":");
  if (colon > 0) return { is: "key", keyId: value.slice(0, colon), secret: value.slice(colon + 1) };
  return scheme.toLowerCase() === "bearer" && value.startsWith(TOKEN_PREFIX) ? { is: "token", token: value } : null;
}

export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret, "utf8").digest();
}

function sameHash(a: Uint8Array, b: Uint8Array | null): boolean {
  return b !== null && a.length === b.length && timingSafeEqual(a, b);
}

const TOUCH_EVERY_MS = 60_000;

const unauthorized = (message: string) => refuse("UNAUTHORIZED", message);

function secretKind(key: KeyRow, secret: string, now: number): "secret" | "previous-secret" | null {
  const given = hashSecret(secret);
  const isCurrent = sameHash(given, key.secretHash);
  const isPrevious = sameHash(given, key.previousHash) && (key.previousUntil ?? 0) > now;
  if (isCurrent) return "secret";
  return isPrevious ? "previous-secret" : null;
}

export function statusOf(key: KeyRow, now: number): "active" | "revoked" | "expired" {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active";
}

interface Shown {
  readonly via: Principal["via"];
  /** Scopes to which the credential is limited, or null for all scopes of the key. */
  readonly scopes: readonly Scope[] | null;
  readonly until: number | null;
}

export function authenticator(store: Store, clock: Clock): (authorization: string | null) => Principal {
  function touch(key: KeyRow, now: number): void {
    if (now - (key.lastUsedAt ?? 0) < TOUCH_EVERY_MS) return;
    store.write(() => store.keys.touch(key.keyId, now)).catch(() => undefined);
  }

  function admit(key: KeyRow | undefined, shown: Shown, now: number): Principal {
    if (!key || statusOf(key, now) !== "active") throw unauthorized("The credential is not valid.");
    if (!store.workspaces.isMember(key.workspaceId, key.ownerId)) {
      throw refuse("PERMISSION_DENIED", "The owner of this key is no longer a member of its workspace.");
    }
    touch(key, now);
    const { keyId, workspaceId, ownerId } = key;
    const scopes = intersect(parseScopes(key.scopes), shown.scopes);
    return { keyId, workspaceId, ownerId, scopes, via: shown.via, expiresAt: earlier(key.expiresAt, shown.until) };
  }

  return (authorization) => {
    if (!authorization) throw unauthorized("A credential is required, such as Authorization: Key <key_id>:<secret>.");
    const credential = parseAuthorization(authorization);
    if (!credential) throw unauthorized("The Authorization header must be Key <key_id>:<secret> or Bearer <token>.");
    const now = clock.now();
    if (credential.is === "key") {
      const key = store.keys.get(credential.keyId);
      const via = key ? secretKind(key, credential.secret, now) : null;
      if (!key || via === null) throw unauthorized("The credential is not valid.");
      return admit(key, { via, scopes: null, until: via === "secret" ? null : key.previousUntil }, now);
    }
    const token = store.keys.token(hashSecret(credential.token));
    if (!token || token.expiresAt <= now) throw unauthorized("The token is invalid or has expired.");
    const scopes = intersect(parseScopes(token.scopes), TOKEN_SCOPES);
    return admit(store.keys.get(token.keyId), { via: "token", scopes, until: token.expiresAt }, now);
  };
}

/** Limit on requests per key. Requests beyond the limit get a 429. */
export interface RateLimit {
  /** Requests allowed per key and window. */
  readonly requests: number;
  readonly windowMs: number;
}

interface Window {
  startedAt: number;
  used: number;
}

const MAX_KEYS = 10_000;

export function overLimit({ requests, windowMs }: RateLimit, resetAtMs: number, now: number): Refusal {
  const retryAfter = Math.max(1, Math.ceil((resetAtMs - now) / 1000));
  const message = `Rate limit exceeded: ${requests} requests per ${windowMs / 1000} seconds.`;
  return refuseForNow("RESOURCE_EXHAUSTED", message, retryAfter, {
    "X-RateLimit-Limit": String(requests),
    "X-RateLimit-Remaining": "0",
    "X-RateLimit-Reset": String(Math.ceil(resetAtMs / 1000)),
  });
}

export function rateLimiter({ requests, windowMs }: RateLimit, clock: Clock): (keyId: string) => void {
  const windows = new Map<string, Window>();

  function windowOf(keyId: string, now: number): Window {
    const known = windows.get(keyId);
    if (known && now < known.startedAt + windowMs) return known;
    windows.delete(keyId);
    if (windows.size >= MAX_KEYS) windows.delete(windows.keys().next().value ?? "");
    const fresh = { startedAt: now, used: 0 };
    windows.set(keyId, fresh);
    return fresh;
  }

  return (keyId) => {
    const now = clock.now();
    const window = windowOf(keyId, now);
    if (window.used >= requests) throw overLimit({ requests, windowMs }, window.startedAt + windowMs, now);
    window.used += 1;
  };
}

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

/**
 * Scopes that a token can have: all except `keys:manage`, because a key created with a token could outlive the token.
 */
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

/** Who sent a request. Jobs, media and voices belong to `ownerId`. Money and keys belong to `workspaceId`. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly scopes: readonly Scope[] | null;
  /**
   * How the sender was authenticated. `previous-secret` is a secret that was replaced by rotation and is still valid
   * for a short time.
   */
  readonly via: "secret" | "previous-secret" | "token";
  readonly expiresAt: number | null;
}

export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
