import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type CodeBlock, codeBlocks, root } from "./support/code-blocks.ts";

const typescript = codeBlocks().filter(({ language }) => language === "ts");
const folder = makeFolder();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("code in the docs", () => {
  test("has the right types", () => {
    copyFileSync(join(root, "recipes/models.ts"), join(folder, "models.ts"));
    for (const block of typescript) {
      writeFileSync(join(folder, fileName(block)), block.code);
      // By which other blocks import it.
      const name = block.marks.find((mark) => mark.startsWith("file="))?.slice("file=".length);
      if (name !== undefined) writeFileSync(join(folder, name), block.code);
    }
    writeFileSync(join(folder, "mentioned.ts"), mentionedMethods());
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: { noUnusedLocals: false, paths: ownPaths() },
        include: ["./*.ts"],
        exclude: [],
      }),
    );
    const tsc = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--noEmit", "--pretty", "false"], {
      encoding: "utf8",
    });
    const ours = tsc.stdout
      .split("\n")
      .filter((line) => /^\S*(mentioned\.ts|__L\d+)/.test(line) || line.includes(folder.split("/").pop()!));
    expect(ours, "file name is document__Lline").toEqual([]);
  }, 300_000);

  test.each(
    typescript
      .filter(({ marks }) => marks.includes("run"))
      .map((block) => [`${block.document}:${block.line}`, block] as const),
  )("%s runs as it stands", (_name, block) => {
    const file = join(folder, `run-${fileName(block)}`);
    writeFileSync(file, block.code);
    const {
      SHOWRUNNER_SERVICE: _service,
      SHOWRUNNER_BASE_URL: _url,
      SHOWRUNNER_API_KEY: _key,
      SHOWRUNNER_JOURNAL: _journal,
      ...env
    } = process.env;
    const hook = join(root, "test/docs/support/own-package.ts");
    const { status, stderr } = spawnSync(process.execPath, ["--import", hook, file], {
      cwd: folder,
      encoding: "utf8",
      env,
    });
    expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  });
});

function fileName({ document, line }: CodeBlock): string {
  return `${document.replace(/\W+/g, "-")}__L${line}.ts`;
}

/** What pages call by these names within a line. */
const SPOKEN_OF = {
  show: 'import("showrunner").Showrunner',
  handle: 'import("showrunner").RunHandle',
  run: 'import("showrunner").RunHandle',
  client: 'import("showrunner").Client',
  studio: 'import("showrunner/testing").Studio',
};

/** One line of code for each method that a page names in its text, as `show.follow(id)`; what it is called on is in scope. */
function mentionedMethods(): string {
  const pages = ["README.md", ...globSync("docs/*.md", { cwd: root })];
  const text = pages.map((page) => readFileSync(join(root, page), "utf8").replace(/^```[\s\S]*?^```/gm, "")).join("\n");
  const found = text.matchAll(/`(?:await )?(show|handle|run|client|studio)((?:\.\w+)+)(\()?/g);
  // Types of events are written alike: `run.finished`.
  const calls = [...found].flatMap(([, of, path, call]) =>
    of === "run" && call === undefined ? [] : [`${of}${path}`],
  );
  const names = Object.entries(SPOKEN_OF).map(([name, type]) => `declare const ${name}: ${type};`);
  return [...names, ...new Set(calls.map((call) => `void ${call};`)), "export {};"].join("\n");
}

/** A folder inside the project, so that imports find our dependencies. */
function makeFolder(): string {
  const parent = join(root, ".showrunner");
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, "docs-"));
}

function ownPaths(): Record<string, string[]> {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as {
    readonly compilerOptions: { readonly paths: Record<string, string[]> };
  };
  return Object.fromEntries(
    Object.entries(compilerOptions.paths).map(([name, files]) => [name, files.map((file) => join(root, file))]),
  );
}
