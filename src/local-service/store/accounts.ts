import type { KeyRow, TokenRow, WorkspaceRow } from "./rows.ts";
import type { Statements } from "./statement.ts";

type Amount = "fundedMicros" | "chargedMicros" | "refundedMicros";

/** Workspaces with their wallets, and who belongs to them. */
export function workspaceTable(db: Statements) {
  const add = (amount: Amount, workspaceId: string, micros: number) =>
    db.run(`UPDATE workspaces SET ${amount} = ${amount} + ? WHERE workspaceId = ?`, micros, workspaceId);
  return {
    get: (workspaceId: string) => db.get<WorkspaceRow>("SELECT * FROM workspaces WHERE workspaceId = ?", workspaceId),
    all: () => db.all<WorkspaceRow>("SELECT * FROM workspaces ORDER BY workspaceId"),
    create: (workspaceId: string) =>
      db.run("INSERT OR IGNORE INTO workspaces (workspaceId) VALUES (?)", workspaceId) === 1,
    fund: (workspaceId: string, micros: number) => add("fundedMicros", workspaceId, micros),
    charge: (workspaceId: string, micros: number) => add("chargedMicros", workspaceId, micros),
    refund: (workspaceId: string, micros: number) => add("refundedMicros", workspaceId, micros),
    setCardDeclined: (workspaceId: string, declined: boolean) =>
      db.run("UPDATE workspaces SET cardDeclined = ? WHERE workspaceId = ?", declined ? 1 : 0, workspaceId),
    join: (workspaceId: string, ownerId: string) =>
      db.run("INSERT OR IGNORE INTO members (workspaceId, ownerId) VALUES (?, ?)", workspaceId, ownerId),
    /** Null takes a departure back. */
    setLeft: (workspaceId: string, ownerId: string, at: number | null) =>
      db.run("UPDATE members SET leftAt = ? WHERE workspaceId = ? AND ownerId = ?", at, workspaceId, ownerId) === 1,
    isMember(workspaceId: string, ownerId: string): boolean {
      const sql = "SELECT leftAt FROM members WHERE workspaceId = ? AND ownerId = ?";
      return db.get<{ leftAt: number | null }>(sql, workspaceId, ownerId)?.leftAt === null;
    },
  };
}

/** Keys and the tokens minted from them. Only hashes of secrets are kept. */
export function keyTable(db: Statements) {
  const page = "SELECT * FROM keys WHERE workspaceId = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
  return {
    insert: (row: Omit<KeyRow, "seq">) => db.insert("keys", row),
    get: (keyId: string) => db.get<KeyRow>("SELECT * FROM keys WHERE keyId = ?", keyId),
    page: (workspaceId: string, before: number, limit: number) => db.all<KeyRow>(page, workspaceId, before, limit),
    /** Tokens minted with the old secret end with it. */
    rotate(keyId: string, secretHash: Uint8Array, previousUntil: number): void {
      const rotate = "UPDATE keys SET previousHash = secretHash, previousUntil = ?, secretHash = ? WHERE keyId = ?";
      db.run(rotate, previousUntil, secretHash, keyId);
      db.run("UPDATE tokens SET expiresAt = min(expiresAt, ?) WHERE keyId = ?", previousUntil, keyId);
    },
    replaceSecret: (keyId: string, secretHash: Uint8Array) =>
      db.run("UPDATE keys SET secretHash = ? WHERE keyId = ?", secretHash, keyId),
    revoke: (keyId: string, at: number) =>
      db.run("UPDATE keys SET revokedAt = coalesce(revokedAt, ?) WHERE keyId = ?", at, keyId),
    touch: (keyId: string, at: number) => db.run("UPDATE keys SET lastUsedAt = ? WHERE keyId = ?", at, keyId),
    addToken: (row: TokenRow) => db.insert("tokens", row),
    token: (tokenHash: Uint8Array) => db.get<TokenRow>("SELECT * FROM tokens WHERE tokenHash = ?", tokenHash),
    dropTokens: (expiredBy: number) => db.run("DELETE FROM tokens WHERE expiresAt <= ?", expiredBy),
  };
}
