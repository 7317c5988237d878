import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Json } from "./plan.ts";

/** `f1_` and the SHA-256 of the value's canonical JSON (RFC 8785): the order of keys does not matter, all else does. */
export function fingerprint(value: Json): string {
  return `f1_${hash("sha256", canonicalize(value) ?? "null")}`;
}
