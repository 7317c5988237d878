import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fingerprint } from "../../../src/core/plan/plain-json.ts";
import type { Json } from "../../../src/core/plan/plan.ts";

test("A fingerprint is the hash of what RFC 8785 makes of the value, with keys like numbers and beyond ASCII too", () => {
  const key = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.nat().map(String),
    fc.constantFrom("__proto__", "é", "\u{1f600}"),
  );
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false, 0, -0, 1e21, 1e-7, 4.5, ""),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: "grapheme" }),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(key, tie("json"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(json, (value) => {
      expect(fingerprint(value as Json)).toBe(`f1_${hash("sha256", canonicalize(value)!)}`);
    }),
  );
});

test("What is undefined counts as absent, in a list as null", () => {
  expect(fingerprint({ a: undefined, b: [undefined, 1] } as never)).toBe(fingerprint({ b: [null, 1] }));
});
