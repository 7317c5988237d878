import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/kit/duration.ts";

const src = resolve(import.meta.dirname, "../../src");
const files = globSync("**/*.{ts,tsx}", { cwd: src }).map((path) => ({
  path: path.replaceAll("\\", "/"),
  text: readFileSync(join(src, path), "utf8"),
}));

/** A file's constants of time, size and number at once: name and what they are set to, as a number where it is one. */
function limitsOf(text: string): readonly string[] {
  const found = text.matchAll(/^(?:export )?const ([A-Z][A-Z\d_]*_(?:MS|BYTES|AT_ONCE)) = ([^;]+);/gm);
  return [...found].map(([, name = "", value = ""]) => `${name} = ${productOf(value)}`);
}

/** Products of literals are worked out, so that `16 * 1024` and `16_384` are the same. */
function productOf(text: string): string {
  const factors = text.replaceAll("_", "").replaceAll("HOUR_MS", "3600000").split(" * ");
  return factors.every((one) => /^\d+$/.test(one))
    ? String(factors.reduce((product, one) => product * Number(one), 1))
    : text;
}

test("an hour and a day in milliseconds are written nowhere but in duration.ts", () => {
  const written = files.filter(({ text }) => /\b(3_600_000|3600 \* 1_?000|86_400_000|24 \* 3600)\b/.test(text));
  expect(written.map(({ path }) => path)).toEqual([]);
  expect([MINUTE_MS, HOUR_MS, DAY_MS]).toEqual([60_000, 3_600_000, 86_400_000]);
});

test("a constant of time, size or number at once has one home: no two files have it by the same name and value", () => {
  const homes = new Map<string, string[]>();
  for (const { path, text } of files) {
    for (const limit of limitsOf(text)) homes.set(limit, [...(homes.get(limit) ?? []), path]);
  }
  expect(homes.size).toBeGreaterThan(150);
  expect([...homes].filter(([, paths]) => paths.length > 1)).toEqual([]);
});
