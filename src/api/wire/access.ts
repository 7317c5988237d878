import { z } from "zod";
import { listOf, text, withDefault } from "./lenient.ts";

export type Scope =
  | "jobs:read"
  | "jobs:write"
  | "models:read"
  | "files:write"
  | "webhooks:manage"
  | "log_drains:manage"
  | "usage:read"
  | "keys:manage"
  | "chat:write"
  | (string & {});

export interface ApiKey {
  readonly keyId: string;
  readonly kind: "personal" | "service" | (string & {}) | null;
  readonly name: string | null;
  /** Empty for full access; null where the service does not say, which is not full access. */
  readonly scopes: readonly Scope[] | null;
  readonly workspaceId: string | null;
  readonly status: "active" | "revoked" | "expired" | (string & {}) | null;
  readonly createdAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
}

/** A key with its secret, which the service shows only once. */
export interface CreatedKey extends Omit<ApiKey, "status" | "revokedAt" | "lastUsedAt"> {
  readonly credential: string;
  /** After a rotation: until when the old secret still works. */
  readonly previousSecretExpiresAt: string | null;
}

/** An ephemeral credential for a browser. */
export interface EphemeralToken {
  readonly token: string;
  readonly expiresAt: string;
  readonly scopes: readonly Scope[];
  readonly workspaceId: string | null;
}

const keyFields = {
  key_id: z.string(),
  kind: text,
  name: text,
  scopes: z.array(z.string()).nullish(),
  workspace_id: text,
  created_at: text,
  expires_at: text,
};

const keyOf = (wire: z.output<z.ZodObject<typeof keyFields>>) => ({
  keyId: wire.key_id,
  kind: wire.kind,
  name: wire.name,
  scopes: wire.scopes === undefined ? null : (wire.scopes ?? []),
  workspaceId: wire.workspace_id,
  createdAt: wire.created_at,
  expiresAt: wire.expires_at,
});

export const apiKey = z.object({ ...keyFields, status: text, revoked_at: text, last_used_at: text }).transform(
  (wire): ApiKey => ({
    ...keyOf(wire),
    status: wire.status,
    revokedAt: wire.revoked_at,
    lastUsedAt: wire.last_used_at,
  }),
);

export const createdKey = z
  .object({ ...keyFields, credential: z.string(), previous_secret_expires_at: text })
  .transform(
    (wire): CreatedKey => ({
      ...keyOf(wire),
      credential: wire.credential,
      previousSecretExpiresAt: wire.previous_secret_expires_at,
    }),
  );

export const ephemeralToken = z
  .object({
    token: z.string(),
    expires_at: withDefault(z.string(), ""),
    scopes: listOf(z.string()),
    workspace_id: text,
  })
  .transform(
    (wire): EphemeralToken => ({
      token: wire.token,
      expiresAt: wire.expires_at,
      scopes: wire.scopes,
      workspaceId: wire.workspace_id,
    }),
  );
