import type { DatabaseSync } from "node:sqlite";
import type { KeyRow, TokenRow, WorkspaceRow } from "./rows.ts";
import { command, insertSql, query } from "./statement.ts";

const KEY_COLUMNS = [
  "keyId",
  "workspaceId",
  "ownerId",
  "kind",
  "name",
  "secretHash",
  "previousHash",
  "previousUntil",
  "scopes",
  "createdAt",
  "expiresAt",
  "revokedAt",
  "lastUsedAt",
] as const satisfies readonly (keyof KeyRow)[];

/** Workspaces with their wallets, and who belongs to them. */
export function workspaceTable(database: DatabaseSync) {
  const get = query<WorkspaceRow>(database, "SELECT * FROM workspaces WHERE workspaceId = ?");
  const all = query<WorkspaceRow>(database, "SELECT * FROM workspaces ORDER BY workspaceId");
  const create = command(database, "INSERT OR IGNORE INTO workspaces (workspaceId) VALUES (?)");
  const fund = command(database, "UPDATE workspaces SET fundedMicros = fundedMicros + ? WHERE workspaceId = ?");
  const charge = command(database, "UPDATE workspaces SET chargedMicros = chargedMicros + ? WHERE workspaceId = ?");
  const refund = command(database, "UPDATE workspaces SET refundedMicros = refundedMicros + ? WHERE workspaceId = ?");
  const decline = command(database, "UPDATE workspaces SET cardDeclined = ? WHERE workspaceId = ?");
  const join = command(database, "INSERT OR IGNORE INTO members (workspaceId, ownerId) VALUES (?, ?)");
  const leave = command(database, "UPDATE members SET leftAt = ? WHERE workspaceId = ? AND ownerId = ?");
  const member = query<{ leftAt: number | null }>(
    database,
    "SELECT leftAt FROM members WHERE workspaceId = ? AND ownerId = ?",
  );
  return {
    get: (workspaceId: string) => get.get(workspaceId),
    all: () => all.all(),
    create: (workspaceId: string) => create(workspaceId).changes === 1,
    fund: (workspaceId: string, micros: number) => fund(micros, workspaceId),
    charge: (workspaceId: string, micros: number) => charge(micros, workspaceId),
    refund: (workspaceId: string, micros: number) => refund(micros, workspaceId),
    setCardDeclined: (workspaceId: string, declined: boolean) => decline(declined ? 1 : 0, workspaceId),
    join: (workspaceId: string, ownerId: string) => join(workspaceId, ownerId),
    /** Null takes a departure back. */
    setLeft: (workspaceId: string, ownerId: string, at: number | null) => leave(at, workspaceId, ownerId).changes === 1,
    isMember: (workspaceId: string, ownerId: string) => member.get(workspaceId, ownerId)?.leftAt === null,
  };
}

/** Keys and the tokens minted from them. Only hashes of secrets are kept. */
export function keyTable(database: DatabaseSync) {
  const insert = command(database, insertSql("keys", KEY_COLUMNS));
  const get = query<KeyRow>(database, "SELECT * FROM keys WHERE keyId = ?");
  const ofOwner = query<KeyRow>(
    database,
    "SELECT * FROM keys WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
  );
  const rotate = command(
    database,
    "UPDATE keys SET previousHash = secretHash, previousUntil = ?, secretHash = ? WHERE keyId = ?",
  );
  const cutTokens = command(database, "UPDATE tokens SET expiresAt = min(expiresAt, ?) WHERE keyId = ?");
  const replaceSecret = command(database, "UPDATE keys SET secretHash = ? WHERE keyId = ?");
  const revoke = command(database, "UPDATE keys SET revokedAt = coalesce(revokedAt, ?) WHERE keyId = ?");
  const touch = command(database, "UPDATE keys SET lastUsedAt = ? WHERE keyId = ?");
  const addToken = command(database, "INSERT INTO tokens (tokenHash, keyId, scopes, expiresAt) VALUES (?, ?, ?, ?)");
  const token = query<TokenRow>(database, "SELECT * FROM tokens WHERE tokenHash = ?");
  const dropTokens = command(database, "DELETE FROM tokens WHERE expiresAt <= ?");
  return {
    insert: (row: Omit<KeyRow, "seq">) => insert(...KEY_COLUMNS.map((column) => row[column])),
    get: (keyId: string) => get.get(keyId),
    page: (workspaceId: string, before: number, limit: number) => ofOwner.all(workspaceId, before, limit),
    /** Tokens minted with the old secret end with it. */
    rotate(keyId: string, secretHash: Uint8Array, previousUntil: number): void {
      rotate(previousUntil, secretHash, keyId);
      cutTokens(previousUntil, keyId);
    },
    replaceSecret: (keyId: string, secretHash: Uint8Array) => replaceSecret(secretHash, keyId),
    revoke: (keyId: string, at: number) => revoke(at, keyId),
    touch: (keyId: string, at: number) => touch(at, keyId),
    addToken: (row: TokenRow) => addToken(row.tokenHash, row.keyId, row.scopes, row.expiresAt),
    token: (tokenHash: Uint8Array) => token.get(tokenHash),
    dropTokens: (expiredBy: number) => dropTokens(expiredBy),
  };
}
