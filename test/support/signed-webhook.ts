import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A service's signing key, made anew. */
export function signingKey(): { readonly privateKey: KeyObject; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey,
    publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64"),
  };
}

export interface SignedParts {
  readonly privateKey: KeyObject;
  readonly body: string;
  /** Epoch milliseconds. */
  readonly signedAt: number;
  readonly id?: string;
  readonly event?: string;
  /** Null leaves the header out. */
  readonly redelivery?: "true" | "false" | null;
  readonly brand?: string;
}

/** Headers as the service signs them. */
export function signedHeaders(parts: SignedParts): Record<string, string> {
  const { id = "job_1", event = "job.completed", redelivery = "false", brand = "Studio" } = parts;
  const timestamp = String(Math.floor(parts.signedAt / 1000));
  const hash = createHash("sha256").update(parts.body).digest("hex");
  const text = [timestamp, id, event, redelivery ?? "false", hash].join("\n");
  return {
    [`X-${brand}-Webhook-Id`]: id,
    [`X-${brand}-Webhook-Event`]: event,
    [`X-${brand}-Webhook-Timestamp`]: timestamp,
    ...(redelivery === null ? {} : { [`X-${brand}-Webhook-Redelivery`]: redelivery }),
    [`X-${brand}-Webhook-Attempt`]: "1",
    [`X-${brand}-Webhook-Signature`]: sign(null, Buffer.from(text), parts.privateKey).toString("hex"),
  };
}
