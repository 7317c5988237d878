import fc from "fast-check";

/*
 * Patterns that schemas from outside may hold, for the two engines that read them: the catalog's and the local
 * service's share no code, so they share their cases.
 */

/** Patterns with texts for which a backtracking engine takes practically forever. */
export const EXPLOSIVE: readonly (readonly [pattern: string, text: string])[] = [
  ["^(a+)+$", `${"a".repeat(100_000)}!`],
  ["^(a|a)*$", `${"a".repeat(100_000)}!`],
  ["^(\\w+\\s?)*$", `${"word ".repeat(20_000)}!`],
  ["(x+x+)+y", "x".repeat(100_000)],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(100_000)],
  ["^([\\w.-]+)+@([\\w-]+\\.)+\\w{2,}$", "a.".repeat(50_000)],
];

/** Patterns that no linear engine supports. */
export const BEYOND: readonly string[] = ["^(?!no)", "(?<=a)b", "(a+)\\1", "^.{1,2500}$", "(?<w>a)\\k<w>"];

/** Patterns with the same result as in JavaScript, although the two engines spell them differently. */
export const SPELLINGS: readonly (readonly [pattern: string, text: string, fits: boolean])[] = [
  ["^\\s+$", "\u3000\u00a0\ufeff", true],
  ["^\\S+$", "a\u00a0", false],
  ["^[\\S]+$", "a\u2028", false],
  ["^[^\\s\\x00-\\x1F]+$", "\u3000", false],
  ["^.+$", "a\u2028b", false],
  ["^[\\b]+$", "\b", true],
  ["^[\\u4e00-\\u9fa5]+$", "\u4e2d\u6587", true],
  ["^\\x41\\cA?$", "A\u0001", true],
  ["^[[a]+$", "[a", true],
  ["^a{,2}+$", "a{,2}", true],
  ["^(?:[]|b)+$", "b", true],
  ["^[^]+$", "\n", true],
  ["^\\A+$", "AA", true],
  ["^(?<year>\\d{4})-\\d+$", "2026-11", true],
  ["^a+$", "a\n", false],
  ["^[\\w\\-.]+$", "a-b.c", true],
  ["^\\/+\\-$", "//-", true],
];

const atom = fc.oneof(
  fc.constantFrom("a", "b", "-", "\\d", "\\w", "\\s", "\\S", "\\D", "\\W", ".", "\\.", "\\u0062", "\\x61", "\\n"),
  fc.constantFrom("[ab]", "[^a]", "[\\s\\d]", "[^\\S]", "[a-z]", "[\\]\\[]", "[[]", "[.]", "[^]", "[\\b]"),
);
const counted = fc
  .tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,3}", "+?"))
  .map(([unit, times]) => unit + times);
const sequence = fc.array(counted, { minLength: 1, maxLength: 4 }).map((units) => units.join(""));
const group = fc
  .tuple(sequence, sequence, fc.constantFrom("", "?", "{1,2}"))
  .map(([a, b, times]) => `(${a}|${b})${times}`);

/** Small patterns that both engines accept, and texts with the characters in these patterns. */
export const patterns = fc
  .tuple(
    fc.constantFrom("", "^"),
    fc.array(fc.oneof(sequence, group), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "$"),
  )
  .map(([start, parts, end]) => start + parts.join("") + end);
export const texts = fc.string({
  unit: fc.constantFrom("a", "b", "z", "1", "-", ".", " ", "\n", "\u00a0", "\u2028", "[", "]", "\b", "\u00e9"),
  maxLength: 8,
});
