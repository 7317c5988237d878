import { describe, expect, test } from "vitest";
import { blocksOf, codeBlocks } from "./support/code-blocks.ts";

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
