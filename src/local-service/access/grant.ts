import { invalid, problem, refuse } from "../http/refusal.ts";
import { instant } from "../jobs/views.ts";
import type { KeyRow } from "../store/rows.ts";
import { earlier, intersect, type Principal, parseScopes, type Scope, TOKEN_SCOPES } from "./principal.ts";

const denied = (message: string, fixedMessage = message) => refuse("PERMISSION_DENIED", message, { fixedMessage });

/** The scopes in `wanted` that `own` lacks; null means every scope. */
function beyond(own: readonly Scope[] | null, wanted: readonly Scope[] | null): readonly string[] {
  if (own === null) return [];
  return wanted === null ? ["every scope"] : wanted.filter((scope) => !own.includes(scope));
}

/**
 * The scopes of a key created by this principal: the requested ones, or its own by default. Null means every scope.
 * @throws Refusal 403 that names the scopes that the principal lacks
 */
export function granted(
  principal: Pick<Principal, "scopes">,
  requested: readonly Scope[] | null | undefined,
): readonly Scope[] | null {
  if (requested === null || requested === undefined) return principal.scopes;
  const missing = beyond(principal.scopes, requested);
  if (missing.length === 0) return [...new Set(requested)];
  throw denied(`You requested scopes that you cannot grant: ${missing.join(", ")}.`);
}

/** The same for a token, which never manages keys. @throws Refusal 403 */
export function grantedToToken(
  principal: Pick<Principal, "scopes">,
  requested: readonly Scope[] | null | undefined,
): readonly Scope[] {
  return granted({ scopes: intersect(principal.scopes, TOKEN_SCOPES) }, requested) ?? TOKEN_SCOPES;
}

/**
 * Expiry of a key created by this principal: the requested one, but never later than that of its credential. @throws
 * Refusal
 */
export function grantedLifetime(
  principal: Principal,
  requested: string | null | undefined,
  now: number,
): number | null {
  if (requested === null || requested === undefined) return principal.expiresAt;
  const at = Date.parse(requested);
  if (at <= now) throw invalid([problem("expires_at", "lies in the past", "minimum")]);
  if (earlier(at, principal.expiresAt) === at) return at;
  const until = instant(principal.expiresAt!);
  const fixed = "A key cannot outlive the credential that makes it.";
  throw denied(`Your credential expires at ${until}; a key that it makes cannot live longer.`, fixed);
}

/**
 * Only a key's current secret may change keys: the holder of a rotated-out secret must not be able to take the key
 * back.
 * @throws Refusal 403
 */
export function assertChangesKeys({ via }: Principal): void {
  if (via !== "secret") throw denied("Changing keys needs the current secret of a key; this one was rotated out.");
}

/**
 * A new secret acts as the key's owner with the key's scopes, so only that owner, with at least these scopes, may
 * rotate.
 * @throws Refusal 403
 */
export function assertMayRotate(principal: Principal, key: KeyRow): void {
  assertChangesKeys(principal);
  if (key.ownerId !== principal.ownerId) throw denied("The key belongs to another owner, who alone may rotate it.");
  assertCovers(principal, key);
}

/** A service key belongs to the workspace, so others may revoke it after its owner has left. @throws Refusal 403 */
export function assertMayRevoke(principal: Principal, key: KeyRow): void {
  assertChangesKeys(principal);
  if (key.ownerId !== principal.ownerId && key.kind !== "service") {
    throw denied("The key is a personal key of another owner, who alone may revoke it.");
  }
  assertCovers(principal, key);
}

function assertCovers(principal: Principal, key: KeyRow): void {
  const missing = beyond(principal.scopes, parseScopes(key.scopes));
  if (missing.length > 0) throw denied(`The key has scopes that your own lacks: ${missing.join(", ")}.`);
}
