import { hashSecret } from "../access/credential.ts";
import { keyId as newKeyId, secret as newSecret } from "../ids.ts";
import type { NormalKey } from "../options.ts";
import type { Store } from "../store/store.ts";

/** Makes sure that a workspace, its owner and a key exist, with this secret. Inside a transaction. */
export function ensureKey(store: Store, key: NormalKey, now: number): void {
  const secretHash = hashSecret(key.secret);
  store.workspaces.create(key.workspaceId);
  store.workspaces.join(key.workspaceId, key.ownerId);
  if (store.keys.get(key.keyId)) {
    store.keys.replaceSecret(key.keyId, secretHash);
    return;
  }
  store.keys.insert({
    keyId: key.keyId,
    workspaceId: key.workspaceId,
    ownerId: key.ownerId,
    kind: "personal",
    name: null,
    secretHash,
    previousHash: null,
    previousUntil: null,
    scopes: key.scopes === null ? null : JSON.stringify(key.scopes),
    createdAt: now,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  });
}

/** A key that nobody has used before. */
export function freshKey(place: Pick<NormalKey, "scopes" | "workspaceId" | "ownerId">): NormalKey {
  return { keyId: newKeyId(), secret: newSecret(), ...place };
}
