import { invalid, problem, refuse } from "../http/refusal.ts";
import { instant } from "../jobs/views.ts";
import type { KeyRow } from "../store/rows.ts";
import { earlier, type Principal } from "./principal.ts";
import { intersect, parseScopes, type Scope, TOKEN_SCOPES } from "./scopes.ts";

const denied = (message: string, fixedMessage = message) => refuse("PERMISSION_DENIED", message, { fixedMessage });

/** Those of `wanted` that `own` does not hold; null stands for every scope. */
function beyond(own: readonly Scope[] | null, wanted: readonly Scope[] | null): readonly string[] {
  if (own === null) return [];
  return wanted === null ? ["every scope"] : wanted.filter((scope) => !own.includes(scope));
}

/**
 * The scopes that a key made by this principal gets: those asked for, else its own. Null means every scope.
 * @throws Refusal 403 that names what the principal does not have itself
 */
export function granted(
  principal: Pick<Principal, "scopes">,
  requested: readonly Scope[] | null | undefined,
): readonly Scope[] | null {
  if (requested === null || requested === undefined) return principal.scopes;
  const missing = beyond(principal.scopes, requested);
  if (missing.length === 0) return [...new Set(requested)];
  throw denied(`You asked for scopes that you cannot hand on: ${missing.join(", ")}.`);
}

/** The same for a token, which never manages keys. @throws Refusal 403 */
export function grantedToToken(
  principal: Pick<Principal, "scopes">,
  requested: readonly Scope[] | null | undefined,
): readonly Scope[] {
  return granted({ scopes: intersect(principal.scopes, TOKEN_SCOPES) }, requested) ?? TOKEN_SCOPES;
}

/** When a key made by this principal expires: as asked, never later than the principal's own credential. @throws Refusal */
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
 * Keys are changed with a key's current secret: whoever holds one that was rotated out shall not take the key back.
 * @throws Refusal 403
 */
export function assertChangesKeys({ via }: Principal): void {
  if (via !== "secret") throw denied("Changing keys needs the current secret of a key; this one was rotated out.");
}

/**
 * A secret acts as the key's owner with the key's scopes, so only that owner, with no less, is given one.
 * @throws Refusal 403
 */
export function assertMayRotate(principal: Principal, key: KeyRow): void {
  assertChangesKeys(principal);
  if (key.ownerId !== principal.ownerId) throw denied("The key belongs to another owner, who alone may rotate it.");
  assertCovers(principal, key);
}

/** A service key belongs to the workspace: it may go when its owner is gone. @throws Refusal 403 */
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
