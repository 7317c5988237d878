import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { llms } from "../../scripts/llms.ts";
import { GROUPS } from "../../site/pages.ts";
import { root } from "./support/code-blocks.ts";

test("every page of docs has its place in the site's sidebar", () => {
  const listed = GROUPS.flatMap(({ pages }) => pages.map(([name]) => name));
  const pages = globSync("docs/*.md", { cwd: root }).map((file) => basename(file, ".md"));
  expect(pages.filter((name) => !listed.includes(name))).toEqual([]);
});

test("docs/llms.txt is what the pages say: node scripts/llms.ts", () => {
  expect(readFileSync(join(root, "docs/llms.txt"), "utf8")).toBe(llms());
});
