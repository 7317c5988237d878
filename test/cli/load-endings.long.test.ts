import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importFile } from "../../src/cli/load/pipeline-file.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { isFull } from "../support/sample.ts";
import { emptyFolder, startCli } from "./support/cli.ts";

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService({ renderer: "stub", balance: 25, dataDir: emptyFolder() });
});
afterAll(() => service.close());

const imports = 'import { openShowrunner, pipeline } from "showrunner";\nimport { z } from "zod";\n';
const pictures = `export const pictures = pipeline("pictures", {
  input: z.object({ look: z.string() }),
  build: ({ input, job }) => ({ face: job("face", "image-1", { prompt: input.look }) }),
});\n`;
/** Leaves a server, a timer and an opened Showrunner behind. */
const leftOpen = `import { createServer } from "node:http";
createServer().listen(0, "127.0.0.1");
setInterval(() => {}, 1000);
await openShowrunner();\n`;

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = emptyFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** A command on a folder of these files, with the service of this test. */
function start(args: readonly string[], files: Readonly<Record<string, string>>) {
  const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
  return startCli(args, { cwd: folderWith(files), env });
}

describe("a pipeline file that fails while it is loaded names the line, and the command exits whatever it left open", () => {
  test.each<[string, Record<string, string>, readonly string[]]>([
    [
      "throws",
      { "p.ts": `${imports}${leftOpen}throw new Error("no such shot list");` },
      ["no such shot list", "p.ts:7"],
    ],
    [
      "defines a pipeline that is none",
      { "p.ts": `${imports}${leftOpen}export default pipeline("a b", {});` },
      ['pipeline "a b"', "p.ts:7"],
    ],
    [
      "does not compile, in a file that it imports",
      { "p.ts": `${imports}${leftOpen}import "./q.ts";`, "q.ts": "\nconst a: = 1;" },
      ["does not compile", "q.ts:2", "^"],
    ],
    [
      "wants an export that is not there",
      { "p.ts": `${imports}${leftOpen}import { models } from "./q.ts";`, "q.ts": "export const model = 1;" },
      ["does not provide an export named 'models'", "p.ts:7"],
    ],
    [
      "wants a package that is not installed",
      { "p.ts": `${imports}${leftOpen}import "./q.ts";`, "q.ts": '\nimport { x } from "@shots/lists/all";\nx();' },
      ["q.ts:2", "npm install @shots/lists"],
    ],
    [
      "wants a file without its ending",
      { "p.ts": `${imports}${leftOpen}import "./q";`, "q.ts": "" },
      ["p.ts:7", "need a file extension"],
    ],
  ])("that %s", async (_what, files, said) => {
    for (const command of isFull ? ["plan", "run"] : ["plan"]) {
      const { code, stdout, stderr } = await start([command, "p.ts", "-i", "look=a lamp"], files).end;
      expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
      for (const text of said) expect(stderr).toContain(text);
      expect(stderr).toMatch(/\nNext: \S/);
    }
  });

  test("that runs its pipeline at top level, with problems in the plan: each on a line of its own", async () => {
    const run = `const show = await openShowrunner();
const run = await show.run(pictures, { look: "a lamp" });
await show.close();\n`;
    const wrong = pictures.replace("image-1", "imagine-1").replace("({ face:", '({ b: job("b", "vidio", {}), face:');
    const { code, stderr } = await start(["plan", "p.ts"], { "p.ts": imports + wrong + run }).end;
    expect(code, stderr).toBe(2);
    expect(stderr).toMatch(/threw an error while loading: The plan has 2 problems/);
    expect(stderr).toMatch(/^ {2}b {2}model: /m);
    expect(stderr).toMatch(/^ {2}face {2}model: /m);
    expect(stderr).toContain("p.ts:8");
  });

  test("that would pay while it is only read: nothing is submitted, and the cure is named", async () => {
    const run = `const show = await openShowrunner();
const run = await show.run(pictures, { look: "a lamp" }, { budget: "5.00" });
const { status, outputs } = await run.result();
await show.close();\n`;
    const before = service.stats().jobs_created;
    const { code, stderr } = await start(["plan", "p.ts"], { "p.ts": imports + pictures + run }).end;
    expect(code, stderr).toBe(2);
    expect(stderr).toContain('pipeline "pictures" was started while its file was being loaded; nothing was submitted');
    expect(stderr).toContain("p.ts:8");
    expect(stderr).toContain("if (import.meta.main)");
    expect(service.stats().jobs_created).toBe(before);
    const cured = run.replace(/^/, "if (import.meta.main) {\n").concat("}\n");
    const again = await start(["plan", "p.ts", "-i", "look=a lamp"], { "p.ts": imports + pictures + cured }).end;
    expect(again.code, again.stderr).toBe(0);
  });

  test("that pays in what it leaves going on: refused there too", async () => {
    const run = `void (async () => { await (await openShowrunner()).run(pictures, { look: "a lamp" }); })();
await new Promise((done) => setTimeout(done, 20_000));\n`;
    const { code, stderr } = await start(["plan", "p.ts"], { "p.ts": imports + pictures + run }).end;
    expect(code, stderr).not.toBe(0);
    expect(stderr).toContain("was started while its file was being loaded; nothing was submitted");
  });

  test("that awaits what nothing can bring any more", async () => {
    const { code, stderr } = await start(["plan", "p.ts"], { "p.ts": "await new Promise(() => {});" }).end;
    expect(code, stderr).toBe(2);
    expect(stderr).toContain("p.ts did not load: a top-level await in it");
  });

  test("that awaits for ever, with something left that could end it, is given up after a while", async () => {
    const folder = folderWith({ "p.ts": "setInterval(() => {}, 1000).unref(); await new Promise(() => {});" });
    await expect(importFile(join(folder, "p.ts"), folder, { timeoutMs: 10 })).rejects.toThrow(
      /did not settle \(waited 0.01 s\)/,
    );
  });

  test("a file that loads well and leaves things open keeps the command no longer than its work", async () => {
    const files = { "p.ts": imports + leftOpen + pictures };
    const { code, stderr } = await start(["plan", "p.ts", "-i", "look=a lamp"], files).end;
    expect(code, stderr).toBe(0);
  });
});

describe("a signal ends the command while a file is loaded, also the first one", () => {
  const loaded = 'process.stderr.write("loading\\n");\n';
  test.each([
    ["that awaits for ever", `${loaded}setInterval(() => {}, 1000); await new Promise(() => {});`],
    ["that never stops computing", `${loaded}for (;;);`],
    [
      "that listens to signals itself",
      `for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => {});\n${loaded}setInterval(() => {}, 1000); await new Promise(() => {});`,
    ],
  ])("%s", async (_what, text) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const { child, end } = start(["plan", "p.ts"], { "p.ts": text });
      await new Promise((seen) => child.stderr?.once("data", seen));
      child.kill(signal);
      const { code } = await end;
      expect([null, 130]).toContain(code);
    }
  });
});
