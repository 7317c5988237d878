import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./support/code-blocks.ts";

const page = readFileSync(join(root, "docs/internal/guarantees.md"), "utf8");
/** A file of tests, and the beginning of the name of one of them. */
const named = [...page.matchAll(/`(test\/[\w./-]+\.ts)`, "([^"]+)"/g)].map(([, file = "", name = ""]) => ({
  file,
  name,
}));

describe("the page of guarantees", () => {
  test("names no test without saying which", () => {
    const files = [...page.matchAll(/`test\/[^`]*`/g)];
    expect(files.length).toBe(named.length);
    expect(named.length).toBeGreaterThan(40);
  });

  test.each(named)("$file has the test “$name”", ({ file, name }) => {
    expect(existsSync(join(root, file)), file).toBe(true);
    const names = [
      ...readFileSync(join(root, file), "utf8").matchAll(
        /\b(?:test|it)(?:\.\w+)*(?:\((?:[^()]|\([^()]*\))*\))?\(\s*(["`])(.*?)\1,/gs,
      ),
    ];
    expect(names.some(([, , written = ""]) => written.includes(name))).toBe(true);
  });

  test("has a reason for every promise: each bold sentence above the limits is followed by a test", () => {
    const promises = page
      .slice(0, page.indexOf("## What is not guaranteed"))
      .split(/^(?=\*\*)/m)
      .slice(1);
    const empty = promises.filter((promise) => !promise.includes("`test/")).map((promise) => promise.slice(0, 60));
    expect(empty).toEqual([]);
  });
});
