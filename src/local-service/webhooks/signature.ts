import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** The headers of a delivery; all but the attempt's number are signed. */
export interface Announcement {
  /** Equal for every attempt and redelivery of one event. */
  readonly id: string;
  readonly event: string;
  readonly redelivery: boolean;
  /** From 1. */
  readonly attempt: number;
  /** Instant of signing, epoch milliseconds. */
  readonly signedAt: number;
}

const KEY_NAME = "webhook_private_key";

/** Small named values that survive a restart. */
interface Meta {
  get(name: string): string | null;
  set(name: string, value: string): unknown;
}

/** The data folder's signing key, created at the first start. */
function signingKey(meta: Meta): KeyObject {
  const known = meta.get(KEY_NAME);
  if (known !== null) {
    return createPrivateKey({ key: Buffer.from(known, "base64"), format: "der", type: "pkcs8" });
  }
  const { privateKey } = generateKeyPairSync("ed25519");
  meta.set(KEY_NAME, privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"));
  return privateKey;
}

function rawPublicKey(privateKey: KeyObject): string {
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

export function webhookSigner(meta: Meta, brand: string) {
  const privateKey = signingKey(meta);
  const name = (ending: string) => `X-${brand}-Webhook-${ending}`;
  return {
    /** Base64 of the raw 32 bytes. */
    publicKey: rawPublicKey(privateKey),
    /** All headers of one delivery. */
    headers({ id, event, redelivery, attempt, signedAt }: Announcement, body: Uint8Array): Record<string, string> {
      const timestamp = String(Math.floor(signedAt / 1000));
      const digest = createHash("sha256").update(body).digest("hex");
      const text = [timestamp, id, event, String(redelivery), digest].join("\n");
      return {
        "Content-Type": "application/json",
        "User-Agent": `${brand}-Webhooks`,
        [name("Id")]: id,
        [name("Timestamp")]: timestamp,
        [name("Event")]: event,
        [name("Redelivery")]: String(redelivery),
        [name("Attempt")]: String(attempt),
        [name("Signature")]: sign(null, Buffer.from(text), privateKey).toString("hex"),
      };
    },
  };
}

export type WebhookSigner = ReturnType<typeof webhookSigner>;
