import { createHash } from "node:crypto";

/** What the signature of a delivery covers, beside the bytes of its body. */
export interface SignedParts {
  /** Unix seconds, as text. */
  readonly timestamp: string;
  readonly id: string;
  readonly event: string;
  /** `true` or `false`. */
  readonly redelivery: string;
}

/** The five lines that are signed with ed25519: time, id, event, redelivery, and the body's hash. */
export function signedText({ timestamp, id, event, redelivery }: SignedParts, body: Uint8Array): Buffer {
  const bodyHash = createHash("sha256").update(body).digest("hex");
  return Buffer.from([timestamp, id, event, redelivery, bodyHash].join("\n"));
}
