import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const pages = ["*.md", "docs/**/*.md", "recipes/**/*.md", "src/cli/skills/**/*.md", "src/*/README.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ["docs/site/**"] }))
  .filter((page) => page !== "THIRD_PARTY_NOTICES.md")
  .map((page) => join(root, page));

/** Text of a page without its code blocks, where brackets mean something else. */
function proseOf(page: string): string {
  return readFileSync(page, "utf8").replace(/^```[\s\S]*?^```/gm, "");
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test.each(pages.map((page) => [relative(root, page), page]))("links of %s lead somewhere", (_name, page) => {
  const targets = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  const dead = targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
  expect(dead).toEqual([]);
});

/** What a decision or a change was about may be gone since. */
const current = pages.map((page) => relative(root, page)).filter((page) => !/decisions|CHANGELOG/.test(page));

test.each(current)("files of this tree that %s names are there", (page) => {
  const paths = /`((?:src|test|scripts|docs|recipes|bin)\/[\w./-]*[\w-])\/?`/g;
  const named = [...proseOf(join(root, page)).matchAll(paths)].map(([, path = ""]) => path);
  const beside = (path: string) => existsSync(join(root, dirname(page), path));
  expect(named.filter((path) => !existsSync(join(root, path)) && !beside(path))).toEqual([]);
});
