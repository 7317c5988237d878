import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CURES } from "../../scripts/error-cures.ts";
import { errorClasses, PAGES } from "../../scripts/reference-pages.ts";
import { ENVIRONMENT } from "../../scripts/settings.ts";
import { root } from "./support/code-blocks.ts";

test.each(Object.keys(PAGES))("%s is what the sources say: node scripts/reference-pages.ts", (path) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(PAGES[path]!());
});

test("every error has its cause and its cure, and no cure is for an error that is gone", () => {
  const classes = errorClasses();
  expect(classes.length).toBeGreaterThan(40);
  expect(classes.filter(({ doc }) => doc === "")).toEqual([]);
  expect(Object.keys(CURES).toSorted()).toEqual([...new Set(classes.map(({ name }) => name))].toSorted());
});

test("every variable of the environment that the sources name is explained", () => {
  const files = ["src", "bin"].flatMap((folder) => globSync(`${folder}/**/*.{ts,js}`, { cwd: root }));
  const named = files.flatMap(
    (file) => readFileSync(join(root, file), "utf8").match(/\bSHOWRUNNER_[A-Z_]+[A-Z]/g) ?? [],
  );
  expect(Object.keys(ENVIRONMENT).toSorted()).toEqual([...new Set(named)].toSorted());
});

test("every option on the page says what it means", () => {
  const page = PAGES["docs/configuration.md"]!();
  expect(page.split("\n").filter((line) => /\|\s+\|$/.test(line))).toEqual([]);
});
