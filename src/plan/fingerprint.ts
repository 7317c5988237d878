import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Json } from "./plan.ts";

/** Hash of what a step asks for, blind to the order in which its fields were written (RFC 8785). */
export function fingerprint(value: Json): string {
  return `f1_${hash("sha256", canonicalize(value) ?? "")}`;
}
