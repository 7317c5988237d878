import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "..");
const document = readFileSync(join(import.meta.dirname, "../../../docs/coverage.md"), "utf8");

interface Row {
  readonly requirement: string;
  readonly tests: string;
}

const rows: readonly Row[] = [...document.matchAll(/^\| (?!Requirement)([^|\n]+) \| ([^|\n]+) \|$/gm)].map(
  ([, requirement = "", tests = ""]) => ({ requirement, tests }),
);

/** The titles of a file's tests, as they are written in it. */
function titlesOf(file: string): ReadonlySet<string> {
  const path = join(folder, file);
  if (!file.endsWith(".test.ts") || !existsSync(path)) return new Set();
  const source = readFileSync(path, "utf8");
  return new Set([...source.matchAll(/(?:\btest\(|\)\()\s*"((?:[^"\\\n]|\\.)*)"/g)].map(([, title = ""]) => title));
}

function missing({ tests }: Row): string[] {
  if (tests === "–") return [];
  return tests.split("<br>").flatMap((one) => {
    const [, file = "", title = ""] = /^`([^`]+)` (.+)$/.exec(one) ?? [];
    return titlesOf(file).has(title) ? [] : [one];
  });
}

test("every requirement in docs/coverage.md names tests that exist", () => {
  expect(rows.length).toBeGreaterThan(90);
  expect(rows.flatMap(missing)).toEqual([]);
});

test("a test that does not exist would be found", () => {
  const title = "a delete removes prompt, logs and media, and the job stays listed";
  expect(missing({ requirement: "", tests: `\`delete.test.ts\` ${title}` })).toEqual([]);
  expect(missing({ requirement: "", tests: `\`delete.test.ts\` ${title} twice` })).toHaveLength(1);
  expect(missing({ requirement: "", tests: "just words" })).toEqual(["just words"]);
});

test("only what cannot arise is without a test, and the document says why", () => {
  expect(rows.filter(({ tests }) => tests === "–").map(({ requirement }) => requirement)).toEqual([
    "Replays from before the history existed show in the count only",
    "Failures from before errors were structured report UNKNOWN",
  ]);
  expect(document).toContain("## Cannot arise here");
});
