import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { blocksOf, codeBlocks, root } from "./support/code-blocks.ts";

const blocks = codeBlocks();

describe("the pages", () => {
  test("have code", () => {
    expect(blocks.filter(({ language }) => language === "ts").length).toBeGreaterThan(0);
  });

  test("write no two files of one page whose imports without an ending would be the same", () => {
    const names = blocks.flatMap(({ document, marks }) =>
      marks.filter((mark) => mark.startsWith("file=")).map((mark) => `${document} ${mark.replace(/\.\w+$/, "")}`),
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test("links to files of this repository lead somewhere", () => {
    const documents = [...new Set(["README.md", "CHANGELOG.md", ...blocks.map(({ document }) => document)])];
    const broken = documents.flatMap((document) => {
      const text = readFileSync(join(root, document), "utf8").replace(/^```[\s\S]*?^```/gm, "");
      return [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map((match) => match[1] ?? "")
        .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(document), target)))
        .map((target) => `${document} → ${target}`);
    });
    expect(broken).toEqual([]);
  });
});

describe("the test itself", () => {
  test("reads fences with language, marks and line, and joins what continues", () => {
    const text = "one\n```ts\nconst a = 1;\n```\n\n```sh\nls\n```\n```ts continues run\na;\n```\n";
    expect(blocksOf("x.md", text).map(({ line, language, marks, code }) => [line, language, marks, code])).toEqual([
      [2, "ts", [], "const a = 1;\n"],
      [6, "sh", [], "ls\n"],
      [9, "ts", ["continues", "run"], "const a = 1;\n\na;\n"],
    ]);
  });
});
