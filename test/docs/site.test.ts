import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ENTRIES, GROUPS, namesByTask } from "../../docs/site/pages.ts";
import { llms } from "../../scripts/llms.ts";
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

test("the README names the site and leads to the recipes, of which each is linked from a page", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  expect(readme).toContain("`npm run site`");
  expect(readme).toContain("](recipes/README.md)");
  const pages = ["README.md", ...globSync(["docs/*.md", "recipes/**/*.md"], { cwd: root })];
  const linked = new Set(pages.flatMap((page) => linksOf(page)));
  // What the recipes share is no recipe.
  const recipes = globSync(["recipes/*.ts", "recipes/*/", "recipes/servers/*"], { cwd: root })
    .map((path) => path.replace(/\/$/, ""))
    .filter((path) => !/^recipes\/(models\.ts|cast\.ts|assets|lib|pictures|servers)$/.test(path));
  expect(recipes.length).toBeGreaterThan(20);
  const isLinked = (recipe: string) => [...linked].some((path) => path === recipe || path.startsWith(`${recipe}/`));
  expect(recipes.filter((recipe) => !isLinked(recipe))).toEqual([]);
});

/** Files and folders that a page links, from the root. */
function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = ""]) => join(dirname(page), target));
}
