import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/core/plan/plain-json.ts";

test("it is that of RFC 8785 wherever the standard has one", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }),
  );
});

test("half of a character has one too, and two halves have two", () => {
  const texts = [{ said: "so \ud83d" }, { said: "so \ude00" }, { said: "so �" }, { "\ud83d": 1 }].map(canonicalJson);
  expect(new Set(texts).size).toBe(4);
  expect(canonicalJson({ b: "\ud83d", a: ["😀"] })).toBe('{"a":["😀"],"b":"\\\\ud83d"}');
});

test("what is no JSON is an error", () => {
  expect(() => canonicalJson({ at: Number.NaN })).toThrow("NaN");
});
