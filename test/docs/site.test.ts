import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { llms } from "../../scripts/llms.ts";
import { ENTRIES, GROUPS, namesByTask } from "../../site/pages.ts";
import { root } from "./support/code-blocks.ts";

test("every page of docs has its place in the site's sidebar", () => {
  const listed = GROUPS.flatMap(({ pages }) => pages.map(([name]) => name));
  const pages = globSync("docs/*.md", { cwd: root }).map((file) => basename(file, ".md"));
  expect(pages.filter((name) => !listed.includes(name))).toEqual([]);
});

test("docs/llms.txt is what the pages say: node scripts/llms.ts", () => {
  expect(readFileSync(join(root, "docs/llms.txt"), "utf8")).toBe(llms());
});

test("every name of the main entry has its task in the site's API, and every entry of the package its page", () => {
  const names = [...namesByTask(readFileSync(join(root, "src/index.ts"), "utf8")).values()];
  expect(names.every((ofTask) => ofTask.length > 0)).toBe(true);
  expect(names.flat().length).toBeGreaterThan(80);
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly exports: object };
  const entries = Object.keys(exports).filter((name) => name !== "./package.json");
  expect(ENTRIES.map(([, name]) => name.replace("showrunner", ".")).toSorted()).toEqual(entries.toSorted());
});
