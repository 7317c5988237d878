import type { Clock } from "../clock/clock.ts";
import { refuse } from "../http/refusal.ts";
import type { KeyRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import { hashSecret, parseAuthorization, sameHash } from "./credential.ts";
import type { Principal } from "./principal.ts";
import { intersect, parseScopes, type Scope } from "./scopes.ts";

/** How often a key's last use is written down, in milliseconds of the service's clock. */
const TOUCH_EVERY_MS = 60_000;

const unauthorized = (message: string) => refuse("UNAUTHORIZED", message);

function matches(key: KeyRow, secret: string, now: number): boolean {
  const given = hashSecret(secret);
  const current = sameHash(given, key.secretHash);
  const previous = sameHash(given, key.previousHash) && (key.previousUntil ?? 0) > now;
  return current || previous;
}

function isUsable(key: KeyRow, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

/** Turns the Authorization header into a principal. @throws Refusal 401, 403 */
export function authenticator(store: Store, clock: Clock): (authorization: string | null) => Principal {
  function touch(key: KeyRow, now: number): void {
    if (now - (key.lastUsedAt ?? 0) < TOUCH_EVERY_MS) return;
    store.write(() => store.keys.touch(key.keyId, now)).catch(() => undefined);
  }

  function principal(key: KeyRow | undefined, now: number, tokenScopes: readonly Scope[] | null, viaToken: boolean) {
    if (!key || !isUsable(key, now)) throw unauthorized("The credential is not valid.");
    if (!store.workspaces.isMember(key.workspaceId, key.ownerId)) {
      throw refuse("PERMISSION_DENIED", "The owner of this key is no longer a member of its workspace.");
    }
    touch(key, now);
    const scopes = intersect(parseScopes(key.scopes), tokenScopes);
    return { keyId: key.keyId, workspaceId: key.workspaceId, ownerId: key.ownerId, scopes, viaToken };
  }

  return (authorization) => {
    if (!authorization) throw unauthorized("A credential is required: Authorization: Key <key_id>:<secret>.");
    const credential = parseAuthorization(authorization);
    if (!credential) throw unauthorized("The Authorization header has neither of the accepted forms.");
    const now = clock.now();
    if (credential.is === "key") {
      const key = store.keys.get(credential.keyId);
      return principal(key && matches(key, credential.secret, now) ? key : undefined, now, null, false);
    }
    const token = store.keys.token(hashSecret(credential.token));
    if (!token || token.expiresAt <= now) throw unauthorized("The token is not valid, or has expired.");
    return principal(store.keys.get(token.keyId), now, parseScopes(token.scopes), true);
  };
}
