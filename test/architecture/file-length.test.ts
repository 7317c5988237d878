import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const MOST_LINES = 500;
const src = resolve(import.meta.dirname, "../../src");

test(`no file of the sources has more than ${MOST_LINES} lines`, () => {
  const lengths = globSync("**/*.{ts,tsx}", { cwd: src }).map((file) => {
    return { file, lines: readFileSync(resolve(src, file), "utf8").split("\n").length - 1 };
  });
  expect(lengths.length).toBeGreaterThan(500);
  expect(lengths.filter(({ lines }) => lines > MOST_LINES)).toEqual([]);
});
