import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./support/code-blocks.ts";

const page = readFileSync(join(root, "SECURITY.md"), "utf8");
const between = (from: string, to: string) => page.slice(page.indexOf(from), page.indexOf(to));
const TAG = /\[([a-z][a-z ]+)\](?!\()/g;
const tagsOf = (text: string) => [...text.matchAll(TAG)].map(([, tag]) => tag!);

const promises = between("## What is promised", "## What each may take").split(/^- /m).slice(1);
const rows = between("## What each may take", "## Threat model")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| Resource"));
const tests = globSync("test/**/*.test.ts", { cwd: root, exclude: ["test/docs/security.test.ts"] }).map((file) =>
  readFileSync(join(root, file), "utf8"),
);

describe("SECURITY.md", () => {
  test("has promises and a table of what each may take", () => {
    expect(promises.length).toBeGreaterThan(15);
    expect(rows.length).toBeGreaterThan(10);
  });

  test.each([...promises, ...rows].map((text) => [text.slice(0, 60), text]))("says what tests “%s”", (_, text) => {
    const tags = tagsOf(text);
    expect(tags).not.toEqual([]);
    expect(tags.filter((tag) => !tests.some((source) => source.includes(`[${tag}]`)))).toEqual([]);
  });
});
