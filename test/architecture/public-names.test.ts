import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const MOST_NAMES = 88;
const index = readFileSync(resolve(import.meta.dirname, "../../src/index.ts"), "utf8");

test(`the root exports ${MOST_NAMES} names at most, types included, each written down`, () => {
  const names = [...index.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => list!.match(/\w+(?=\s*(?:,|$))/g) ?? []);
  expect(names).toContain("openShowrunner");
  expect(names.length).toBeLessThanOrEqual(MOST_NAMES);
  expect(index).not.toMatch(/export \*|export (?:const|function|class|default)/);
});
