/** What `showrunner init` leaves compiles, whatever was there before: with the compilers that people have. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { listRecipes } from "../../src/cli/commands/init.ts";
import { runCli } from "../../src/cli/program.ts";
import { startLocalService } from "../../src/local-service/index.ts";
import { cli, emptyFolder } from "../cli/support/cli.ts";
import { fakeIo } from "../cli/support/fake-io.ts";
import { isFull, sampled } from "../support/sample.ts";
import { install, packages, root } from "./support/packed.ts";
import { writeInto } from "./support/project.ts";

vi.setConfig({ testTimeout: 300_000 });

const base = mkdtempSync(join(tmpdir(), "showrunner-init-"));
const modules = join(base, "node_modules");
const compilers = [
  join(modules, "ts5/lib/tsc.js"),
  join(modules, "ts6/lib/tsc.js"),
  join(root, "node_modules/typescript/bin/tsc"),
];

beforeAll(async () => {
  writeFileSync(join(base, "package.json"), '{ "private": true }\n');
  const { devDependencies: versions } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const used = ["@types/node", "mediabunny", "@mediabunny/aac-encoder", "csv-parse"].map(
    (name) => `${name}@${versions[name]}`,
  );
  const tarballs = [...(await packages()).values()].map(({ file }) => file);
  install(base, ...tarballs, "zod@4", "ts5@npm:typescript@5.9.3", "ts6@npm:typescript@6.0.3", ...used);
});

/** The older compilers take most of the time: folder after folder, one of the three in turn; in a full check all. */
function inTurn(turn: number): readonly string[] {
  return isFull ? compilers : [compilers[turn % compilers.length]!];
}

async function compiles(cwd: string, by: readonly string[]): Promise<void> {
  symlinkSync(modules, join(cwd, "node_modules"));
  for (const compiler of by) {
    const said = await promisify(execFile)(process.execPath, [compiler, "-p", "."], { cwd }).catch((error) => error);
    expect(`${said.stdout}${said.stderr}`, compiler).toBe("");
  }
}

const MODELS = { "models.ts": readFileSync(join(root, "recipes/models.ts"), "utf8") };
const COMMONJS = { "index.js": "module.exports = {};\n" };
const BEFORE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  nothing: {},
  "what npm init writes": { "package.json": '{ "name": "x", "type": "commonjs", "main": "index.js" }' },
  "models that were pulled": MODELS,
  "models and a package.json without a type": { ...MODELS, "package.json": '{ "name": "x" }' },
  "programs of CommonJS": COMMONJS,
  "programs of CommonJS that say so, and models": { ...MODELS, ...COMMONJS, "package.json": '{ "type": "commonjs" }' },
  "imports without an ending": {
    ...MODELS,
    "src/a.ts": "export const a = 1;",
    "src/b.ts": 'import { a } from "./a";\nexport const b = a;',
  },
  "ES modules": { "src/a.ts": "export const a = 1;", "src/b.ts": 'import { a } from "./a.ts";\nexport const b = a;' },
};

describe("init in a folder with", () => {
  const folders = Object.entries(BEFORE).map(([what, files], turn) => ({ what, files, turn }));
  test.each(folders)("$what leaves what compilers accept, older ones too", async ({ files, turn }) => {
    const cwd = emptyFolder();
    writeInto(cwd, files);
    const { code, stderr } = await cli(["init"], { cwd });
    expect(code, stderr).toBe(0);
    await compiles(cwd, inTurn(turn));
  });

  test.each([0, 1, 2])("settings of a compiler's own (%i) leaves what it and others accept", async (at) => {
    const cwd = emptyFolder();
    await promisify(execFile)(process.execPath, [compilers[at]!, "--init"], { cwd });
    expect((await cli(["init"], { cwd })).code).toBe(0);
    await compiles(cwd, inTurn(at));
    const { stderr } = await cli(["init", "--recipe", "takes"], { cwd });
    expect(stderr).toContain('tsconfig.json needs "allowImportingTsExtensions": true');
  });
});

describe("init --recipe", () => {
  test("leaves recipes that all three accept, together in one folder, and that plan on the local service", async () => {
    const cwd = emptyFolder();
    const service = await startLocalService({ renderer: "stub", balance: 100 });
    try {
      const { io, stderr: said } = fakeIo({ cwd });
      for (const { name } of listRecipes()) expect(await runCli(["init", "--recipe", name], io), said()).toBe(0);
      await compiles(cwd, compilers);
      const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
      // What each costs and makes is seen by test/recipes; here, that what init left is found. Each takes a process.
      for (const { name } of sampled(listRecipes(), 3)) {
        const { code, stderr } = await cli(["plan", `${name}.ts`], { cwd, env });
        expect(code, `${name}: ${stderr}`).toBe(0);
      }
    } finally {
      await service.close();
    }
  });

  test("is refused beside programs of CommonJS, and the command that makes room is named", async () => {
    const cwd = emptyFolder();
    writeInto(cwd, COMMONJS);
    const { code, stderr } = await cli(["init", "--recipe", "takes"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("mkdir films && cd films && npx showrunner init --recipe takes");
  });
});
