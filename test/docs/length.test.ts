import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/code-blocks.ts";

/** What users read: the README and every page outside `docs/internal`, code, tables and generated pages included. */
const MOST_WORDS = 40_000;

test("the pages for users have at most 40,000 words", () => {
  const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: root, exclude: ["docs/internal/**"] })];
  expect(pages.length).toBeGreaterThan(25);
  const counts = pages.map((page) => readFileSync(join(root, page), "utf8").split(/\s+/).filter(Boolean).length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(MOST_WORDS);
});
