import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "../..");
const document = readFileSync(join(folder, "../docs/internal/coverage.md"), "utf8");

/** What nothing can show, with its reason in the document. */
const NOT_TESTABLE = ["D14", "D19"];

interface Row {
  readonly rule: string;
  readonly what: string;
  readonly tests: string;
}

function rowsOf(text: string): readonly Row[] {
  const table = text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Rule |"));
  return table.map((line) => {
    const [, rule = "", what = "", tests = "", end] = line.split(/ ?(?<!\\)\| ?/);
    if (end !== "") throw new Error(`not three columns: ${line}`);
    return { rule, what, tests };
  });
}

/** Whatever is wrong with the numbers: each section has letters of its own and counts from 1. */
function misnumbered(text: string): string[] {
  const sections = text.split(/^## /m).slice(1);
  const letters = sections.map((section) => rowsOf(section)[0]?.rule.replace(/\d+$/, "") ?? "");
  const wrong = sections.flatMap((section, index) =>
    rowsOf(section).flatMap(({ rule }, row) => (rule === `${letters[index]}${row + 1}` ? [] : [rule])),
  );
  return [...wrong, ...letters.filter((each, index) => !/^[A-Z]+$/.test(each) || letters.indexOf(each) !== index)];
}

/** The titles of a file's tests, as they are written in it. */
function titlesOf(file: string): ReadonlySet<string> {
  const path = join(folder, file);
  if (!file.endsWith(".test.ts") || !existsSync(path)) return new Set();
  const source = readFileSync(path, "utf8");
  const written = source.matchAll(/(?:\btest\(|\)\()\s*(["`])((?:(?!\1)[^\\\n]|\\.)*)\1/g);
  return new Set([...written].map(([, , title = ""]) => title));
}

function missing({ tests }: Pick<Row, "tests">): string[] {
  if (/^not testable here: .{10}/.test(tests)) return [];
  return tests.split("<br>").flatMap((one) => {
    const [, file = "", title = ""] = /^`([^`]+)` (.+)$/.exec(one) ?? [];
    return titlesOf(file).has(title) ? [] : [one];
  });
}

const rows = rowsOf(document);

test("the rules in docs/internal/coverage.md are numbered without a gap, and no number stands twice", () => {
  expect(rows.length).toBeGreaterThan(180);
  expect(misnumbered(document)).toEqual([]);
  expect(document).toContain(`\n${rows.length} rules `);
});

test("a number that is left out, moved or used twice would be found", () => {
  const table = (...rules: string[]) => `## Some\n\n${rules.map((rule) => `| ${rule} | what | tests |\n`).join("")}\n`;
  expect(misnumbered(table("S1", "S2") + table("J1"))).toEqual([]);
  expect(misnumbered(table("S1", "S3"))).toEqual(["S3"]);
  expect(misnumbered(table("S1", "S1"))).toEqual(["S1"]);
  expect(misnumbered(table("S1") + table("S1"))).toEqual(["S"]);
});

test("every rule in docs/internal/coverage.md names tests that exist", () => {
  expect(rows.flatMap(missing)).toEqual([]);
});

test("a test that does not exist would be found", () => {
  const title = "a delete removes prompt, logs and media, and the job stays listed";
  expect(missing({ tests: `\`local-service/delete.test.ts\` ${title}` })).toEqual([]);
  expect(missing({ tests: `\`local-service/delete.test.ts\` ${title} twice` })).toHaveLength(1);
  expect(missing({ tests: "just words" })).toEqual(["just words"]);
  expect(missing({ tests: "not testable here:" })).toHaveLength(1);
});

test("only what is listed here is without a test, and its row says why", () => {
  const without = rows.filter(({ tests }) => !tests.startsWith("`")).map(({ rule }) => rule);
  expect(without).toEqual(NOT_TESTABLE);
});
