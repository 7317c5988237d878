import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, globSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { declarationsIn, publicDeclarations, surfaceOf } from "../../scripts/api-surface.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { FILM } from "../../src/local-service/start.ts";
import { LIST_MODULES, loadedModules } from "../support/loaded-modules.ts";
import { install, packages, root } from "./support/packed.ts";

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "showrunner-package-"));
const command = join(folder, "node_modules/showrunner/bin/showrunner.js");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
/** The local service, until its name on npm is ours. */
const unpublished = `npm i -D CLONE/packed/showrunner-local-${version}.tgz`;
let packed: Awaited<ReturnType<typeof packages>>;
let service: LocalService;

beforeAll(async () => {
  packed = await packages();
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  install(folder, packed.get("showrunner")!.file);
  writeFileSync(
    join(folder, "poster.ts"),
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("poster", {
  input: z.object({ subject: z.string() }),
  build: ({ input, job }) => ({ poster: job("poster", "image-1", { prompt: input.subject, aspect_ratio: "1:1" }) }),
});
`,
  );
  service = await startLocalService({ renderer: "stub", balance: 5 });
});
afterAll(() => service?.close());

const { SHOWRUNNER_BASE_URL: _url, SHOWRUNNER_API_KEY: _key, SHOWRUNNER_JOURNAL: _journal, ...env } = process.env;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function node(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const { promise, resolve: end } = Promise.withResolvers<Ended>();
  execFile(process.execPath, args, { cwd: folder, env: { ...env, ...more } }, (error, stdout, stderr) =>
    end({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
  );
  return promise;
}

const cli = (...args: string[]) => node([command, ...args]);

function script(code: string): Promise<Ended> {
  return node(["--input-type=module", "-e", code]);
}

function expectPicture(stdout: string): void {
  const [name, path] = stdout.trim().split("\t");
  expect(name).toBe("poster");
  expect(readFileSync(path!).subarray(1, 4).toString()).toBe("PNG");
}

describe("the packages", () => {
  test("hold what was built, its types and its papers, and no sources or tests", () => {
    const main = packed.get("showrunner")!.paths;
    for (const file of [
      ...["dist/index.js", "dist/index.d.ts", "dist/core/api/index.js", "dist/core/api/index.d.ts"],
      ...["bin/showrunner.js", "dist/cli/main.js"],
      ...["dist/studio/dashboard/page/index.html", "dist/studio/dashboard/page/LICENSES.txt"],
      "dist/cli/skills/showrunner/SKILL.md",
      ...["README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "THIRD_PARTY_NOTICES.md"],
    ]) {
      expect(main).toContain(file);
    }
    const local = packed.get("showrunner-local")!.paths;
    for (const file of [
      "local-service/index.js",
      "local-service/index.d.ts",
      "local-service/render/worker.js",
      "local-service/render/draw/figures/face.svg",
      "LICENSE",
      "README.md",
      "THIRD_PARTY_NOTICES.md",
    ]) {
      expect(local).toContain(file);
    }
    expect(main.filter((file) => /^(src|test|scripts|bench|dist\/local)\//.test(file))).toEqual([]);
    const sources = [...main, ...local].filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));
    expect(sources.filter((file) => !file.startsWith("recipes/"))).toEqual([]);
  });

  test("hold the client of a page as one file, which a server can send as it is", () => {
    const client = readFileSync(join(folder, "node_modules/showrunner/dist/studio/browser/index.js"), "utf8");
    expect(client).not.toMatch(/^import|\bimport\(|\bfrom "/m);
  });

  test.each(["showrunner", "showrunner-local"] as const)("%s has every file that its pages link to", (name) => {
    const { file, paths } = packed.get(name)!;
    const isThere = (path: string) =>
      paths.some((one) => one === path || one.startsWith(`${path.replace(/\/$/, "")}/`));
    const dead = paths
      .filter((path) => path.endsWith(".md"))
      .flatMap((page) => {
        const text = execFileSync("tar", ["xzOf", file, `package/${page}`], { encoding: "utf8" });
        const targets = [...text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/\]\(([^)\s]+)\)/g)];
        return targets
          .map(([, target = ""]) => target.split("#")[0]!)
          .filter((target) => target !== "" && !/^[a-z]+:/.test(target))
          .filter((target) => !isThere(posix.join(posix.dirname(page), target)))
          .map((target) => `${page}: ${target}`);
      });
    expect(dead).toEqual([]);
  });

  test("the command can be executed and says its version", async () => {
    expect(readFileSync(command, "utf8").startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(statSync(command).mode & 0o111).toBe(0o111);
    expect((await cli("--version")).stdout).toBe(`${version}\n`);
  });
});

describe("showrunner installed alone", () => {
  test("is as many packages and MB as the README says, none of which draws, speaks or films", () => {
    const lock = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8")) as {
      readonly packages: Readonly<Record<string, unknown>>;
    };
    const names = Object.keys(lock.packages);
    const files = globSync("node_modules/**/*", { cwd: folder, withFileTypes: true }).filter((one) => one.isFile());
    // As on a disk, in blocks of 4 KiB.
    const bytes = files.reduce((sum, { parentPath, name }) => {
      return sum + Math.ceil(statSync(join(parentPath, name)).size / 4096) * 4096;
    }, 0);
    expect(bytes / 2 ** 20).toBeLessThanOrEqual(30);
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const [, packages, megabytes] = /`showrunner` adds (\d+) packages \((\d+) MB\)/.exec(readme) ?? [];
    expect(names.length).toBe(Number(packages));
    expect(Math.abs(bytes / 2 ** 20 - Number(megabytes)), `${bytes / 2 ** 20} MB`).toBeLessThanOrEqual(2);
    expect(names.filter((name) => /canvas|font|flite|encoder|h264|mediabunny|showrunner-local/.test(name))).toEqual([]);
  });

  test.each(["showrunner", "showrunner/client", "showrunner/migrate", "showrunner/statecharts", "showrunner/testing"])(
    "%s can be imported",
    async (name) => {
      const found = await script(`if (Object.keys(await import("${name}")).length === 0) process.exit(1)`);
      expect(found).toEqual({ code: 0, stdout: "", stderr: "" });
    },
  );

  test("helps, plans and runs on a service with a base URL", async () => {
    const hosted = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
    expect((await cli("--help")).stdout).toContain("serve");
    const pipeline = ["poster.ts", "-i", "subject=a red kite"];
    const plan = await node([command, "plan", ...pipeline], hosted);
    expect(plan.stdout, plan.stderr).toContain("poster");
    const run = await node([command, "run", ...pipeline, "--id", "hosted", "--budget", "1"], hosted);
    expect(run.code, run.stderr).toBe(0);
    expectPicture(run.stdout);
  });

  test.each([
    ["runs", ["runs"], {}, "npm install pg"],
    ["run", ["run", "poster.ts", "-i", "subject=x", "--budget", "1"], {}, "npm install pg"],
    [
      "worker --engine pg-boss",
      ["worker", "--engine", "pg-boss"],
      { SHOWRUNNER_JOURNAL: "journal.db", SHOWRUNNER_ENGINE_URL: "postgres://user:s3cret@127.0.0.1:1/db" },
      "npm install pg-boss pg",
    ],
  ] as const)("%s on PostgreSQL, whose driver is not installed, names the one command", async (_, args, more, cure) => {
    const { code, stdout, stderr } = await node([command, ...args], {
      SHOWRUNNER_BASE_URL: service.baseUrl,
      SHOWRUNNER_API_KEY: service.apiKey,
      SHOWRUNNER_JOURNAL: "postgres://user:s3cret@127.0.0.1:1/db",
      ...more,
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect([...new Set(stderr.match(/npm install [a-z -]+/g))]).toEqual([cure]);
    expect(stderr).not.toMatch(/s3cret|ERR_MODULE_NOT_FOUND|at .*:\d+:\d+/);
  });

  test("a worker on Restate, whose package is not installed, names the one command", async () => {
    const { code, stderr } = await node([command, "worker", "--engine", "restate"], {
      SHOWRUNNER_BASE_URL: service.baseUrl,
      SHOWRUNNER_API_KEY: service.apiKey,
      SHOWRUNNER_JOURNAL: "journal.db",
    });
    expect(code).toBe(1);
    expect(stderr.match(/npm install .*/g)).toEqual(["npm install @restatedev/restate-sdk"]);
  });

  test("what its pipelines are inferred as can be declared by a package of the user's own", () => {
    for (const file of globSync("recipes/{*,lib/*}.ts", { cwd: root })) cpSync(join(root, file), join(folder, file));
    const flags = [
      "--declaration",
      "--emitDeclarationOnly",
      "--outDir",
      "declared",
      "--module",
      "nodenext",
      "--strict",
    ];
    const more = [
      "--target",
      "es2024",
      "--allowImportingTsExtensions",
      "--rewriteRelativeImportExtensions",
      "--skipLibCheck",
    ];
    const types = ["--typeRoots", join(root, "node_modules/@types"), "--types", "node"];
    const files = globSync("recipes/*.ts", { cwd: folder });
    const tsc = join(root, "node_modules/.bin/tsc");
    const { stdout } = spawnSync(tsc, [...flags, ...more, ...types, ...files], {
      cwd: folder,
      encoding: "utf8",
    });
    // Some use libraries that are not installed here.
    expect(stdout.split("\n").filter((line) => line !== "" && !line.includes("TS2307"))).toEqual([]);
    expect(readFileSync(join(folder, "declared/talking-avatar.d.ts"), "utf8")).toContain("Pipeline<");
  });

  test("measures films, whose reader is built in; the input's schema mixes the project's zod and ours", async () => {
    writeFileSync(join(folder, "film.mp4"), FILM.bytes);
    writeFileSync(
      join(folder, "film.ts"),
      `import { copyFile } from "node:fs/promises";
import { file, pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("film", {
  input: z.object({ film: file("video").default("film.mp4") }),
  build: ({ task }) => {
    const film = task("copy", {}, async (_input, { file }) => void (await copyFile("film.mp4", file("film"))), { files: { film: "video" } });
    return { film };
  },
});
`,
    );
    const hosted = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
    const run = await node([command, "run", "film.ts", "--id", "film", "--budget", "1"], hosted);
    expect(run.code, run.stderr).toBe(0);
    const [, path] = run.stdout.trim().split("\t");
    const manifest = JSON.parse(readFileSync(`${path}.json`, "utf8")) as { readonly file: unknown };
    expect(manifest.file).toMatchObject({ content_type: "video/mp4", width: 64, duration_ms: 1000 });
  });

  test.each([
    { start: 'import "showrunner"', packages: ["xstate"], files: 11 },
    { start: 'import "showrunner/client"', packages: [], files: 6 },
  ])("$start loads $files files at most, and of the packages $packages", async ({ start, packages, files }) => {
    const { stderr } = await node(["--import", LIST_MODULES, "--input-type=module", "-e", start]);
    const loaded = loadedModules(stderr);
    expect(loaded.packages).toEqual(packages);
    expect(loaded.own.length, loaded.own.join("\n")).toBeLessThanOrEqual(files);
  });

  test.each([
    { args: ["--help"], packages: [], files: 5 },
    { args: ["runs"], packages: ["xstate"], files: 18 },
    { args: ["show", "hosted"], packages: ["xstate"], files: 23 },
  ])("$args loads $files files at most, and of the packages $packages", async ({ args, packages, files }) => {
    const { code, stderr } = await node(["--import", LIST_MODULES, command, ...args]);
    expect(code).toBe(0);
    const loaded = loadedModules(stderr);
    expect(loaded.packages).toEqual(packages);
    expect(loaded.own.length, loaded.own.join("\n")).toBeLessThanOrEqual(files);
  });

  test.each([
    ["serve", ["serve", "--port", "0"]],
    ["a run without a base URL", ["run", "poster.ts", "-i", "subject=x"]],
    ["a run with --local", ["run", "poster.ts", "-i", "subject=x", "--local"]],
    ["a call of the API", ["balance"]],
    ["a worker", ["worker", "--once"]],
    ["the dashboard", ["dashboard", "--port", "0"]],
  ])("%s names the one command that installs the local service", async (_name, args) => {
    const { code, stdout, stderr } = await cli(...args);
    expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("The local service is not installed");
    expect(stderr).toContain(`Next: ${unpublished}\n`);
  });

  test("that command has the package's name once a release has published it", async () => {
    const manifest = join(folder, "node_modules/showrunner/package.json");
    const before = readFileSync(manifest, "utf8");
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(before), published: true }));
    const { stderr } = await cli("serve", "--port", "0");
    writeFileSync(manifest, before);
    expect(stderr).toContain("Next: npm i -D showrunner-local\n");
  });

  test("reads the journal without any service", async () => {
    expect((await cli("runs")).stdout).toContain("hosted");
    expect(await cli("show", "hosted")).toMatchObject({ code: 0, stdout: expect.stringContaining("poster") });
  });

  test("showrunner/testing names the one command that installs the local service", async () => {
    const { code, stderr } = await script(`await (await import("showrunner/testing")).startStudio()`);
    expect(code).toBe(1);
    expect(stderr).toContain("The local service is not installed: add the package showrunner-local");
  });

  test("a program is told so by the error's code", async () => {
    const { stdout } = await script(
      `const { openShowrunner } = await import("showrunner"); const show = await openShowrunner(); await show.balance().catch(({ code, next }) => console.log(code, next))`,
    );
    expect(stdout).toBe(
      `LOCAL_SERVICE_MISSING ${unpublished}   (CLONE: a clone of Showrunner; run npm run pack in it first)\n`,
    );
  });
});

describe("with showrunner-local beside it", () => {
  beforeAll(() => install(folder, packed.get("showrunner-local")!.file));

  test("showrunner-local can be imported", async () => {
    const found = await script(
      'if ((await import("showrunner-local")).startLocalService === undefined) process.exit(1)',
    );
    expect(found).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("runs a pipeline on the embedded local service, down to the file", async () => {
    const run = await cli("run", "poster.ts", "-i", "subject=a red kite", "--id", "embedded");
    expect(run.code, run.stderr).toBe(0);
    expectPicture(run.stdout);
  });

  test("showrunner/testing runs a test of a pipeline", async () => {
    const test = `import poster from "./poster.ts";
import { startStudio } from "showrunner/testing";
await using studio = await startStudio();
const run = await studio.run(poster, { subject: "a red kite" }, { budget: "1" });
await studio.assertPaidOnce();
await studio.assertWithinBudget(run);
console.log(run.status);
`;
    writeFileSync(join(folder, "paid-once.ts"), test);
    expect(await node(["paid-once.ts"])).toEqual({ code: 0, stdout: "succeeded\n", stderr: "" });
  });

  test("offers a folder's pipelines to an agent", async () => {
    const offered = spawn(process.execPath, [command, "mcp", "."], { cwd: folder, env });
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_pipelines", arguments: {} } };
    offered.stdin.end(`${JSON.stringify(call)}\n`);
    const [said] = (await once(offered.stdout, "data")) as [Buffer];
    expect(String(said)).toContain("poster");
    expect(await once(offered, "close")).toEqual([0, null]);
  });

  test("serves", async () => {
    const serving = spawn(process.execPath, [command, "serve", "--port", "0", "--json"], { cwd: folder, env });
    const [said] = (await once(serving.stdout, "data")) as [Buffer];
    const { base_url: baseUrl, api_key: apiKey } = JSON.parse(String(said)) as Record<string, string>;
    const answer = await fetch(`${baseUrl}/models`, { headers: { Authorization: `Bearer ${apiKey}` } });
    expect(answer.status).toBe(200);
    serving.kill("SIGTERM");
    expect(await once(serving, "close")).toEqual([0, null]);
  });
});

describe("the types of the package", () => {
  const folder = join(root, "docs/internal/api");
  let declarations: ReadonlyMap<string, string>;
  let surface: ReadonlyMap<string, string>;
  beforeAll(async () => {
    declarations = await publicDeclarations();
    surface = surfaceOf(declarations);
  });

  test("docs/internal/api says what each entry exports now; a change of it is made by node scripts/api-surface.ts", () => {
    expect(declarationsIn(folder)).toEqual([...surface.keys()]);
    for (const [name, text] of surface) expect(text, name).toBe(readFileSync(join(folder, name), "utf8"));
  });

  test("each exported name, each of its methods and each option has a docstring", () => {
    const listed = (text: string) =>
      [...text.matchAll(/^export (?:type )?\{([^}]+)\}/gm)].flatMap(([, names]) => names!.match(/\w+/g) ?? []);
    const isChunk = (path: string) => path.startsWith("chunks/");
    const published = new Set([...declarations].flatMap(([path, text]) => (isChunk(path) ? [] : listed(text))));
    const bare: string[] = [];
    for (const text of declarations.values()) {
      const exported = new Set(listed(text).filter((name) => published.has(name)));
      let owner = "";
      let hasMethods = false;
      let isDocumented = false;
      for (const line of text.split("\n")) {
        const [, kind, name] =
          /^(?:export |declare |abstract )*(interface|class|function|type|const) (\w+)/.exec(line) ?? [];
        if (name !== undefined) owner = name;
        if (name !== undefined) hasMethods = kind === "interface" || kind === "class";
        const isOption = /(?:Options|Settings)$/.test(owner) && /^ {2}(?:readonly )?\w+\??[:(<]/.test(line);
        const isMethod = hasMethods && owner !== "Logger" && /^ {2}(?!constructor)\w+\??[(<]/.test(line);
        const needsDocs = exported.has(owner) && (name !== undefined || isOption || isMethod);
        if (needsDocs && !isDocumented) bare.push(name ?? `${owner}: ${line.trim()}`);
        isDocumented = line.endsWith("*/");
      }
    }
    expect(bare).toEqual([]);
  });

  test.each(["index", "core/api/index", "migrate/index", "local-service/index"])(
    "what the types of %s need of other packages is zod",
    (entry) => {
      const foreign = new Set<string>();
      const files = new Set([`${entry}.d.ts`]);
      for (const file of files) {
        for (const [, from] of surface.get(file)!.matchAll(/(?:from |import\()"([^"\n]+)"/g)) {
          if (from!.startsWith(".")) files.add(join(dirname(file), from!.replace(/\.js$/, ".d.ts")));
          else foreign.add(from!);
        }
      }
      foreign.delete("zod");
      expect([...foreign]).toEqual([]);
    },
  );
});
