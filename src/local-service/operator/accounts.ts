import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashSecret } from "../access/authenticate.ts";
import { keyId as newKeyId, secret as newSecret } from "../ids.ts";
import { FIRST_OWNER, FIRST_WORKSPACE, type NormalKey, type NormalOptions } from "../options.ts";
import type { Store } from "../store/store.ts";

/** Stores the credential generated at the first start; readable by its owner only. */
const CREDENTIAL_FILE = "credential";

const FIRST = { workspaceId: FIRST_WORKSPACE, ownerId: FIRST_OWNER, scopes: null };

function storedKey(dataDir: string): NormalKey {
  const file = join(dataDir, CREDENTIAL_FILE);
  if (existsSync(file)) {
    // Also restores the mode of a file copied without it.
    chmodSync(file, 0o600);
    const [keyId = "", secret = ""] = readFileSync(file, "utf8").trim().split(":");
    if (keyId && secret) return { keyId, secret, ...FIRST };
  }
  const key = freshKey(FIRST);
  writeFileSync(file, `${key.keyId}:${key.secret}\n`, { mode: 0o600 });
  return key;
}

/** Creates the configured keys, and funds the first workspace once. Returns the first key as `id:secret`. */
export async function openAccounts(store: Store, options: NormalOptions, now: number): Promise<string> {
  const keys = options.keys.length > 0 ? options.keys : [storedKey(options.dataDir)];
  await store.write(() => {
    if (store.workspaces.create(FIRST_WORKSPACE)) store.workspaces.fund(FIRST_WORKSPACE, options.balanceMicros);
    for (const key of keys) ensureKey(store, key, now);
  });
  const [first] = keys;
  return `${first!.keyId}:${first!.secret}`;
}

/** Ensures that a workspace, its owner and a key with this secret exist. Call inside a transaction. */
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
    scopes: key.scopes === null ? null : JSON.stringify(key.scopes),
    createdAt: now,
    expiresAt: null,
  });
}

/** A newly generated key. */
export function freshKey(access: Pick<NormalKey, "scopes" | "workspaceId" | "ownerId">): NormalKey {
  return { keyId: newKeyId(), secret: newSecret(), ...access };
}
