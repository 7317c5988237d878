import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIRST_OWNER, FIRST_WORKSPACE, type NormalKey, type NormalOptions } from "../options.ts";
import type { Store } from "../store/store.ts";
import { ensureKey, freshKey } from "./accounts.ts";

/** Holds the credential that was made at the first start; readable by its owner only. */
const CREDENTIAL_FILE = "credential";

const FIRST = { workspaceId: FIRST_WORKSPACE, ownerId: FIRST_OWNER, scopes: null };

function keptKey(dataDir: string): NormalKey {
  const file = join(dataDir, CREDENTIAL_FILE);
  if (existsSync(file)) {
    // Also one that came here by a copy that forgot its mode.
    chmodSync(file, 0o600);
    const [keyId = "", secret = ""] = readFileSync(file, "utf8").trim().split(":");
    if (keyId && secret) return { keyId, secret, ...FIRST };
  }
  const key = freshKey(FIRST);
  writeFileSync(file, `${key.keyId}:${key.secret}\n`, { mode: 0o600 });
  return key;
}

/** Makes the keys that exist from the start, and funds the first workspace once. Returns the first key as `id:secret`. */
export async function openAccounts(store: Store, options: NormalOptions, now: number): Promise<string> {
  const keys = options.keys.length > 0 ? options.keys : [keptKey(options.dataDir)];
  await store.write(() => {
    if (store.workspaces.create(FIRST_WORKSPACE)) store.workspaces.fund(FIRST_WORKSPACE, options.balanceMicros);
    for (const key of keys) ensureKey(store, key, now);
  });
  const [first] = keys;
  return `${first!.keyId}:${first!.secret}`;
}
