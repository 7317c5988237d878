import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { KnownSecrets } from "../../../src/core/kit/known-secrets.ts";
import { Cleaner } from "../../../src/local-service/recording/cleaner.ts";
import { isFull } from "../../support/sample.ts";
import { leaksIn, secretForms } from "../../support/secret-forms.ts";

afterEach(() => void vi.restoreAllMocks());

/** The expression of a secret as one would write it for a short text: the oracle of the search. */
function expressionOf(...secrets: readonly string[]): RegExp {
  const written = (character: string) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
    return `(?:\\x${hex}|%${hex}|\\\\(?:u00${hex}|\\x${hex}))`;
  };
  const forms = secrets.flatMap((text) => {
    const bytes = Buffer.from(text, "latin1");
    const inBase64 = [0, 1, 2].map((offset) => {
      const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64url");
      const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
      return core.replaceAll("-", "[-+]").replaceAll("_", "[_/]");
    });
    return [[...text].map(written).join(""), bytes.toString("hex"), ...inBase64];
  });
  return new RegExp(forms.join("|"), "gi");
}

const printable = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const secret = fc.oneof(
  fc.string({ unit: printable, minLength: 8, maxLength: 30 }),
  // Escapes of other characters, and much that two secrets share.
  fc.string({ unit: fc.constantFrom("a", "B", "%41", "\\", "u", "0", "+", "_", ":"), minLength: 8, maxLength: 20 }),
);
const wayToWrite = fc.constantFrom(...Object.values(secretForms));
const between = fc.string({ unit: fc.constantFrom("a", "%", "\\", "u0041", "4", "é", " "), maxLength: 6 });

test("of many secrets none is left, however they are written and whatever they share", () => {
  const cases = fc.array(fc.tuple(secret, wayToWrite, between), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(cases, (said) => {
      const text = said.map(([hidden, write, after]) => write(hidden) + after).join(" ");
      const replaced = new KnownSecrets(...said.map(([hidden]) => hidden)).remove(text);
      for (const [hidden] of said) {
        expect(replaced).not.toMatch(expressionOf(hidden));
        expect(leaksIn(replaced, hidden)).toEqual([]);
      }
    }),
    { numRuns: isFull ? 5000 : 150 },
  );
});

test("one secret is found where an expression of its own finds it", () => {
  const hidden = "%41b+/_-s3cr3t\\u0041";
  const parts = fc.oneof(
    between,
    wayToWrite.map((write) => write(hidden)),
    fc.nat(hidden.length).map((length) => hidden.slice(0, length)),
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 8 }), (said) => {
      const text = said.join("");
      expect(new KnownSecrets(hidden).remove(text)).toBe(text.replace(expressionOf(hidden), "[redacted]"));
    }),
    { numRuns: isFull ? 5000 : 150 },
  );
});

test("secrets that overlap go together", () => {
  expect(new KnownSecrets("abcdefgh", "efghijkl").remove("-abcdefghijkl-")).toBe("-[redacted]-");
});

test("a recorder that knows 150 secrets goes over a text no more often than one that knows a single one", () => {
  const text = "the quick brown fox, 12:30. ".repeat(500);
  const [one, many] = [1, 150].map((count) => {
    const cleaner = new Cleaner(new Map());
    for (let at = 0; at < count; at++) cleaner.learnRequest({ authorization: `Key key_${at}:s3cr3t-${at}-s3cr3t` });
    return charactersLookedAt(() => cleaner.text(text));
  }) as [number, number];
  expect(many).toBeLessThan(2 * one);
});

/** By searches of whole texts, and one by one. */
function charactersLookedAt(work: () => void): number {
  let count = 0;
  const { replace, charCodeAt } = String.prototype;
  vi.spyOn(String.prototype, "replace").mockImplementation(function (this: string, ...given: readonly unknown[]) {
    count += this.length;
    return Reflect.apply(replace, this, given);
  } as typeof replace);
  vi.spyOn(String.prototype, "charCodeAt").mockImplementation(function (this: string, at: number) {
    count += 1;
    return charCodeAt.call(this, at);
  });
  work();
  vi.restoreAllMocks();
  return count;
}
