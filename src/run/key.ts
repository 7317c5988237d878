import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Json } from "../plan/plan.ts";

/**
 * The idempotency key of one attempt: `sr1_` and a hash of what makes it this attempt and no other. The same attempt of
 * the same run always derives the same key; two runs never share one (the nonce differs).
 */
export function idempotencyKey(of: {
  readonly nonce: string;
  readonly step: string;
  readonly attempt: number;
  readonly model: string;
  readonly input: Json;
}): string {
  return `sr1_${hash("sha256", canonicalize([of.nonce, of.step, of.attempt, of.model, of.input]) ?? "").slice(0, 48)}`;
}
