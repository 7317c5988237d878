import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** Generates a service's signing key. */
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
  /** Time of the signature in epoch milliseconds. */
  readonly signedAt: number;
  readonly id?: string;
  readonly event?: string;
  /** Value of the redelivery header; null omits it. */
  readonly redelivery?: "true" | "false" | null;
  readonly brand?: string;
}

/** Webhook headers, signed in the same way as by the service. */
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
