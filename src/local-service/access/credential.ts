import { createHash, timingSafeEqual } from "node:crypto";

export type Credential =
  | { readonly is: "key"; readonly keyId: string; readonly secret: string }
  | { readonly is: "token"; readonly token: string };

export const TOKEN_PREFIX = "tok_";
const FORM = /^(key|bearer) +(\S+)$/i;

/** Reads `Key <id>:<secret>` and `Bearer <id>:<secret | token>`; null when it is neither. */
export function parseAuthorization(header: string | null): Credential | null {
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

/** Compares without telling by its time where two hashes part. */
export function sameHash(a: Uint8Array, b: Uint8Array | null): boolean {
  return b !== null && a.length === b.length && timingSafeEqual(a, b);
}
