/** The rules of docs/internal/coverage.md and the promises of guarantees.md have numbers, which the titles of their tests carry. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./support/code-blocks.ts";

/** What nothing can show, with its reason in its row. */
const NOT_TESTABLE = ["D14", "D19"];

const read = (page: string) => readFileSync(join(root, "docs/internal", page), "utf8");
const coverage = read("coverage.md");
const guarantees = read("guarantees.md");
const promisesIn = (page: string) => [...page.matchAll(/^\*\*[^*]+\*\* \[(G\d+)\]/gm)].map(([, tag]) => tag!);

/** The rules of a table, with what holds. */
function rulesIn(text: string): readonly (readonly [rule: string, what: string])[] {
  return [...text.matchAll(/^\| ([A-Z]+\d+) \| (.+) \|$/gm)].map(([, rule, what]) => [rule!, what!]);
}

/** Numbers that are left out, moved or used twice: each section has letters of its own and counts from 1. */
function misnumbered(text: string): readonly string[] {
  const sections = text
    .split(/^## /m)
    .slice(1)
    .map((section) => rulesIn(section).map(([rule]) => rule));
  const letters = sections.map(([first = ""]) => first.replace(/\d+$/, ""));
  const wrong = sections.flatMap((rules, at) => rules.filter((rule, row) => rule !== `${letters[at]}${row + 1}`));
  return [...wrong, ...letters.filter((each, at) => !/^[A-Z]+$/.test(each) || letters.indexOf(each) !== at)];
}

/** Tags at the end of titles, as of `"is charged once [S7 G2]"`. */
function tagsIn(source: string): readonly string[] {
  return [...source.matchAll(/ \[((?:[A-Z]+\d+)(?: [A-Z]+\d+)*)\]["`]/g)].flatMap(([, tags = ""]) => tags.split(" "));
}

const files = globSync("test/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**", "test/docs/tags.test.ts"] });
const carried = new Set(files.flatMap((file) => tagsIn(readFileSync(join(root, file), "utf8"))));
const rules = rulesIn(coverage);
const promises = promisesIn(guarantees);

describe("the numbers of rules and promises", () => {
  test("have no gap, and none stands twice", () => {
    expect(rules.length).toBeGreaterThan(400);
    expect(coverage).toContain(`\n${rules.length} rules `);
    expect(misnumbered(coverage)).toEqual([]);
    expect(promises.length).toBeGreaterThan(45);
    expect(promises).toEqual(promises.map((_, at) => `G${at + 1}`));
  });

  test("are each in the title of a test, but for those whose row says why not", () => {
    expect([...rules.map(([rule]) => rule), ...promises].filter((tag) => !carried.has(tag))).toEqual(NOT_TESTABLE);
    const reasons = rules.filter(([, what]) => /\(not testable here: .{10,}\)$/.test(what));
    expect(reasons.map(([rule]) => rule)).toEqual(NOT_TESTABLE);
  });

  test("are in no title that no page knows", () => {
    const known = new Set([...rules.map(([rule]) => rule), ...promises]);
    expect([...carried].filter((tag) => !known.has(tag))).toEqual([]);
  });

  test("belong to every promise above the limits", () => {
    const bold = guarantees.slice(0, guarantees.indexOf("## What every answer means")).match(/^\*\*/gm);
    expect(bold).toHaveLength(promises.length);
  });
});

describe("what would be found", () => {
  test("is a number that is left out, moved or used twice", () => {
    const table = (...numbers: string[]) => `## Some\n\n${numbers.map((rule) => `| ${rule} | what |\n`).join("")}\n`;
    expect(misnumbered(table("S1", "S2") + table("J1"))).toEqual([]);
    expect(misnumbered(table("S1", "S3"))).toEqual(["S3"]);
    expect(misnumbered(table("S1", "S1"))).toEqual(["S1"]);
    expect(misnumbered(table("S1") + table("S1"))).toEqual(["S"]);
  });

  test("is a tag at the end of a title, and no other brackets", () => {
    expect(tagsIn('test("a [S1] b", () => {}); test(`c [S2 G3]`, f); test("d [S4 ]"); ["S5"]')).toEqual(["S2", "G3"]);
  });
});
