import { parseBody } from "../http/body.ts";
import { type Answer, type Call, created, type Endpoint, endpoint, newestFirst, noContent, ok } from "../http/call.ts";
import { invalid, notFound, problem, refuse } from "../http/refusal.ts";
import { instant, instantOrNull } from "../jobs/views.ts";
import { GRACE_SECONDS, newKeyBody, newTokenBody, rotateBody, TOKEN_TTL_SECONDS } from "../request-bodies.ts";
import type { ServiceContext } from "../service-context.ts";
import { type KeyRow, type NewKeyRow, keyId as newKeyId, secret as newSecret } from "../store/rows.ts";
import {
  earlier,
  hashSecret,
  intersect,
  type Principal,
  parseScopes,
  type Scope,
  statusOf,
  TOKEN_PREFIX,
  TOKEN_SCOPES,
} from "./authenticate.ts";

const denied = (message: string, fixedMessage = message) => refuse("PERMISSION_DENIED", message, { fixedMessage });

function beyond(own: readonly Scope[] | null, wanted: readonly Scope[] | null): readonly string[] {
  if (own === null) return [];
  return wanted === null ? ["every scope"] : wanted.filter((scope) => !own.includes(scope));
}

export function granted(
  principal: Pick<Principal, "scopes">,
  requested: readonly Scope[] | null | undefined,
): readonly Scope[] | null {
  if (requested === null || requested === undefined) return principal.scopes;
  const missing = beyond(principal.scopes, requested);
  if (missing.length === 0) return [...new Set(requested)];
  throw denied(`Your credential lacks these requested scopes: ${missing.join(", ")}.`);
}

export function grantedToToken(
  principal: Pick<Principal, "scopes">,
  requested: readonly Scope[] | null | undefined,
): readonly Scope[] {
  return granted({ scopes: intersect(principal.scopes, TOKEN_SCOPES) }, requested) ?? TOKEN_SCOPES;
}

export function grantedLifetime(
  principal: Principal,
  requested: string | null | undefined,
  now: number,
): number | null {
  if (requested === null || requested === undefined) return principal.expiresAt;
  const at = Date.parse(requested);
  if (at <= now) throw invalid([problem("expires_at", "is in the past", "minimum")]);
  if (earlier(at, principal.expiresAt) === at) return at;
  const until = instant(principal.expiresAt!);
  const fixed = "A key cannot outlive the credential that creates it.";
  throw denied(`Your credential expires at ${until}; a key created with it must not expire later than that.`, fixed);
}

export function assertChangesKeys({ via }: Principal): void {
  if (via !== "secret") throw denied("This secret has been replaced; to manage keys, use the key's current secret.");
}

export function assertMayRotate(principal: Principal, key: KeyRow): void {
  assertChangesKeys(principal);
  if (key.ownerId !== principal.ownerId)
    throw denied("The key belongs to another owner; only that owner can rotate it.");
  assertCovers(principal, key);
}

export function assertMayRevoke(principal: Principal, key: KeyRow): void {
  assertChangesKeys(principal);
  if (key.ownerId !== principal.ownerId && key.kind !== "service") {
    throw denied("The personal key belongs to another owner; only that owner can revoke it.");
  }
  assertCovers(principal, key);
}

function assertCovers(principal: Principal, key: KeyRow): void {
  const missing = beyond(principal.scopes, parseScopes(key.scopes));
  if (missing.length > 0) throw denied(`The key has scopes that your credential lacks: ${missing.join(", ")}.`);
}

function view(key: KeyRow, now: number) {
  return {
    key_id: key.keyId,
    kind: key.kind,
    name: key.name,
    scopes: parseScopes(key.scopes),
    workspace_id: key.workspaceId,
    status: statusOf(key, now),
    created_at: instant(key.createdAt),
    expires_at: instantOrNull(key.expiresAt),
    revoked_at: instantOrNull(key.revokedAt),
    last_used_at: instantOrNull(key.lastUsedAt),
  };
}

export function accessEndpoints({ store, clock, options }: ServiceContext): readonly Endpoint[] {
  function find(call: Call): KeyRow {
    const key = store.keys.get(call.param("key_id"));
    if (key && key.workspaceId === call.principal.workspaceId) return key;
    throw notFound("This workspace has no such key.");
  }

  async function make(call: Call): Promise<Answer> {
    const body = parseBody(newKeyBody, await call.json());
    const { principal } = call;
    assertChangesKeys(principal);
    const { workspaceId } = principal;
    if ((body.workspace_id ?? workspaceId) !== workspaceId) {
      throw denied("A key can create keys only for its own workspace.");
    }
    const scopes = granted(principal, body.scopes);
    const secret = newSecret();
    const key: NewKeyRow = {
      keyId: newKeyId(),
      workspaceId,
      ownerId: principal.ownerId,
      kind: body.kind ?? "personal",
      name: body.name ?? null,
      secretHash: hashSecret(secret),
      scopes: scopes === null ? null : JSON.stringify(scopes),
      createdAt: clock.now(),
      expiresAt: grantedLifetime(principal, body.expires_at, clock.now()),
    };
    const stored = await store.write(() => {
      store.keys.insert(key);
      return store.keys.get(key.keyId)!;
    });
    const { status: _s, revoked_at: _r, last_used_at: _l, key_id, ...rest } = view(stored, clock.now());
    return created({ key_id, credential: `${key_id}:${secret}`, ...rest });
  }

  function list(call: Call): Answer {
    const requested = call.query("workspace_id") ?? call.principal.workspaceId;
    if (requested !== call.principal.workspaceId) {
      throw denied("A key can list only the keys of its own workspace.");
    }
    const read = (before: number, count: number) => store.keys.page(requested, before, count);
    return newestFirst(call, read, (key) => view(key, clock.now()));
  }

  async function rotate(call: Call): Promise<Answer> {
    const { grace_period_seconds } = parseBody(rotateBody, await call.json());
    const key = find(call);
    assertMayRotate(call.principal, key);
    if (statusOf(key, clock.now()) !== "active") throw refuse("FAILED_PRECONDITION", "The key is revoked or expired.");
    const secret = newSecret();
    const until = clock.now() + (grace_period_seconds ?? GRACE_SECONDS.default) * 1000;
    await store.write(() => store.keys.rotate(key.keyId, hashSecret(secret), until));
    const { status: _s, created_at: _c, revoked_at: _r, last_used_at: _l, key_id, ...rest } = view(key, clock.now());
    return ok({ key_id, credential: `${key_id}:${secret}`, ...rest, previous_secret_expires_at: instant(until) });
  }

  async function revoke(call: Call): Promise<Answer> {
    const key = find(call);
    assertMayRevoke(call.principal, key);
    await store.write(() => store.keys.revoke(key.keyId, clock.now()));
    return noContent;
  }

  async function mint(call: Call): Promise<Answer> {
    const body = parseBody(newTokenBody, await call.json());
    const { principal } = call;
    const scopes = grantedToToken(principal, body.scopes);
    const token = `${TOKEN_PREFIX}${newSecret()}`;
    const requested = clock.now() + (body.ttl_seconds ?? TOKEN_TTL_SECONDS.default) * 1000;
    const expiresAt = Math.min(requested, principal.expiresAt ?? requested);
    const row = { tokenHash: hashSecret(token), keyId: principal.keyId, scopes: JSON.stringify(scopes), expiresAt };
    await store.write(() => store.keys.addToken(row));
    const grant = options.asOf === "3.9" ? { scopes, workspace_id: principal.workspaceId } : {};
    return created({ token, expires_at: instant(expiresAt), ...grant });
  }

  return [
    endpoint("POST", "/keys", "keys:manage", "Create a key", make),
    endpoint("GET", "/keys", "keys:manage", "The workspace's keys", list),
    endpoint("POST", "/keys/{key_id}/rotate", "keys:manage", "Replace a key's secret", rotate),
    endpoint("DELETE", "/keys/{key_id}", "keys:manage", "Revoke a key", revoke),
    endpoint("POST", "/tokens", "key", "Create a short-lived token", mint),
  ];
}
