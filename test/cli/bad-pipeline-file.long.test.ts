import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { emptyFolder, startCli } from "./support/cli.ts";

const pipelineText = (name: string) =>
  `pipeline("${name}", { input: z.object({}), build: ({ job }) => ({ x: job("x", "none", {}) }) })`;
const imports = 'import { pipeline } from "showrunner"; import { z } from "zod";\n';

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = emptyFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe("a pipeline file that cannot be used", () => {
  test.each([
    ["does not exist", {}, "none.ts", ["none.ts does not exist"]],
    ["is a folder", {}, ".", ["is not a pipeline file"]],
    ["has another ending", { "p.txt": "" }, "p.txt", ["p.txt is not a pipeline file", ".ts"]],
    ["does not compile", { "p.ts": "const a: = 1;\n" }, "p.ts", ["p.ts does not compile", "p.ts:1", "^"]],
    ["does not compile as JavaScript", { "p.mjs": "const a = ;\n" }, "p.mjs", ["p.mjs does not compile"]],
    ["uses an enum", { "p.ts": "export enum A { x }\n" }, "p.ts", ["enum", "tsx"]],
    [
      "imports what is not installed",
      { "p.ts": 'import "not-there-at-all";' },
      "p.ts",
      ["npm install not-there-at-all"],
    ],
    ["imports without the ending", { "p.ts": 'import "./q";', "q.ts": "" }, "p.ts", ["need a file extension"]],
    [
      "imports models.ts before it was written",
      { "p.ts": 'import "./models.ts";' },
      "p.ts",
      ["Next: showrunner models pull"],
    ],
    ["throws", { "p.ts": 'throw new Error("my own\\u001b[2J mistake");' }, "p.ts", ["my own\\u001b[2J mistake"]],
    ["exports nothing", { "p.ts": "export {};" }, "p.ts", ["exports no pipeline", "nothing"]],
    [
      "exports other things",
      { "p.ts": "export const a = 1; export function b() {}" },
      "p.ts",
      ["a (number), b (function)"],
    ],
    [
      "exports several",
      { "p.ts": `${imports}export const one = ${pipelineText("one")}; export const two = ${pipelineText("two")};` },
      "p.ts",
      ["several pipelines: one, two", "p.ts#one or p.ts#two"],
    ],
    [
      "lacks the one that was named",
      { "p.ts": `${imports}export const one = ${pipelineText("one")};` },
      "p.ts#three",
      ["no pipeline named three", "p.ts#one"],
    ],
  ])("one that %s: clear error, exit 2, nothing left behind", async (_what, files, spec, said) => {
    const cwd = folderWith(files);
    const { code, stdout, stderr } = await startCli(["run", spec], { cwd }).end;
    expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
    for (const text of said) expect(stderr).toContain(text);
    expect(stderr).toMatch(/\nNext: \S/);
    expect(stderr).not.toMatch(/\n\s+at .*node:internal/);
    expect(existsSync(join(cwd, ".showrunner"))).toBe(false);
  });
});

describe("a pipeline file in a project of its own", () => {
  test("uses the running Showrunner, even when the project has another one installed", async () => {
    const cwd = folderWith({
      "p.ts": 'import { pipeline } from "showrunner"; import { z } from "zod"; export const a = [pipeline, z];',
    });
    mkdirSync(join(cwd, "node_modules/showrunner"), { recursive: true });
    writeFileSync(
      join(cwd, "node_modules/showrunner/package.json"),
      '{"name":"showrunner","type":"module","exports":"./x.js"}',
    );
    writeFileSync(join(cwd, "node_modules/showrunner/x.js"), 'throw new Error("the other copy was loaded");');
    const { stderr } = await startCli(["plan", "p.ts"], { cwd }).end;
    expect(stderr).toContain("exports no pipeline; it exports a (object)");
  });

  test("a file name that contains # is used whole", async () => {
    const cwd = folderWith({ "p#q.ts": "export const a = 1;" });
    const { stderr } = await startCli(["plan", "p#q.ts"], { cwd }).end;
    expect(stderr).toContain("p#q.ts exports no pipeline");
  });
});
