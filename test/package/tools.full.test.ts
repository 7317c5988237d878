/** Both packages as people install and bundle them. Says so where the registry is out of reach, and fails. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testNeeding } from "../support/absence.ts";
import { install, npm, type PackageName, type Packed, packages } from "./support/packed.ts";
import { writeInto } from "./support/project.ts";

vi.setConfig({ testTimeout: 600_000, hookTimeout: 900_000 });

const FILM = `import { pipeline } from "showrunner";
import { z } from "zod";
export const poster = pipeline("poster", {
  input: z.object({ subject: z.string() }),
  build: ({ input, job }) => ({ poster: job("poster", "image-1", { prompt: input.subject }) }),
});
export default poster;
`;
const HANDLER = `import { openShowrunner } from "showrunner";
import { createHandler } from "showrunner/handler";
import { poster } from "./film.js";
export async function opened() {
  const show = await openShowrunner();
  const authorize = () => ({ tags: { customer: "a" }, budget: "1" });
  return { show, api: createHandler(show, { prefix: "/api", pipelines: { poster }, authorize }) };
}
`;
const SERVER = `import { opened } from "./handler.js";
const { show, api } = await opened();
const headers = { "content-type": "application/json" };
const body = JSON.stringify({ input: { subject: "a kite" } });
const answer = await api(new Request("http://x/api/poster/quote", { method: "POST", headers, body }));
console.log(answer.status, (await answer.json()).maximum);
await show.close();
`;
const ROUTE = `import { opened } from "../../../handler.js";
let first;
const answer = async (request) => (await (first ??= opened())).api(request);
export { answer as GET, answer as POST };
`;
const WEBPACK = `export default {
  mode: "production", target: "node", entry: "./server.js", experiments: { outputModule: true },
  output: { filename: "webpack.mjs", path: import.meta.dirname + "/out", module: true, chunkFormat: "module" },
  externalsType: "module", externals: [/^showrunner/],
};
`;

let packed: ReadonlyMap<PackageName, Packed>;
let tools: string;
beforeAll(async () => {
  packed = await packages();
  tools = mkdtempSync(join(tmpdir(), "showrunner-tools-"));
  writeInto(tools, { "package.json": '{ "private": true }' });
  reached(() => install(tools, "pnpm@10", "@yarnpkg/cli-dist@4", "bun@1"));
  // Puts its binary in place, which npm leaves to a script of the package.
  execFileSync(process.execPath, ["install.js"], { cwd: join(tools, "node_modules/bun"), stdio: "ignore" });
});
afterAll(() => rmSync(tools, { recursive: true, force: true }));

function reached(installing: () => void): void {
  try {
    installing();
  } catch (cause) {
    throw new Error("NOT TESTED: npm's registry is out of reach, or has not what these tests install", { cause });
  }
}

/** In CI, Yarn would otherwise refuse to write a lock file. */
const YARN = { YARN_ENABLE_TELEMETRY: "0", YARN_ENABLE_IMMUTABLE_INSTALLS: "0" };

async function ran(cwd: string, program: string, ...args: readonly string[]): Promise<string> {
  return endOf({ cwd }, program, ...args);
}

async function endOf(
  { cwd, uid, env: own }: { readonly cwd: string; readonly uid?: number; readonly env?: NodeJS.ProcessEnv },
  program: string,
  ...args: readonly string[]
): Promise<string> {
  const PATH = [dirname(process.execPath), process.env.PATH].join(":");
  const env = own ?? { ...process.env, PATH, NEXT_TELEMETRY_DISABLED: "1", ...YARN };
  const user = uid === undefined ? {} : { uid, gid: uid };
  const done = promisify(execFile)(program, args, { cwd, env, ...user, maxBuffer: 1e8 });
  const { stdout, stderr } = await done.catch((error: { stdout: string; stderr: string }) => error);
  return stdout + stderr;
}

/** A project in a path with a space. */
function projectOf(files: Readonly<Record<string, string>> = {}): string {
  const folder = join(mkdtempSync(join(tmpdir(), "showrunner-app-")), "my films");
  const file = (name: PackageName) => `file:${packed.get(name)!.file}`;
  const dependencies = { showrunner: file("showrunner"), "showrunner-local": file("showrunner-local"), zod: "^4.0.0" };
  const manifest = { name: "films", private: true, type: "module", dependencies };
  writeInto(folder, { "package.json": JSON.stringify(manifest), "film.js": FILM, ...files });
  return folder;
}

const RUN = ["--local", "--id", "a", "--budget", "1", "-i", "subject=a kite", "--json"] as const;
const SUCCEEDED = /"status": ?"succeeded"/;

describe("the command line runs a pipeline when it was installed by", () => {
  const yarn = ["node", "@yarnpkg/cli-dist/bin/yarn.js"] as const;
  test.each([
    ["pnpm", ["node", "pnpm/bin/pnpm.cjs"], ["exec"], {}],
    ["Yarn", yarn, ["run"], { ".yarnrc.yml": "nodeLinker: node-modules\n", "yarn.lock": "" }],
    ["Yarn's Plug'n'Play", yarn, ["run"], { ".yarnrc.yml": "nodeLinker: pnp\n", "yarn.lock": "" }],
    ["Bun", ["", "bun/bin/bun.exe"], ["x"], {}],
  ] as const)("%s", async (_name, [node, file], start, files) => {
    const folder = projectOf(files);
    const manager = join(tools, "node_modules", file);
    const [program, ...before] = node === "" ? [manager] : [process.execPath, manager];
    const installed = await ran(folder, program!, ...before, "install");
    const made = await ran(folder, program!, ...before, ...start, "showrunner", "run", "film.js", ...RUN);
    expect(made, installed).toMatch(SUCCEEDED);
    rmSync(dirname(folder), { recursive: true, force: true });
  });

  test("Bun, and says that Node runs it where Bun is told to", async () => {
    const bun = join(tools, "node_modules/bun/bin/bun.exe");
    const program = join(import.meta.dirname, "../../bin/showrunner.js");
    expect(await ran(tools, bun, program, "runs")).toMatch(/needs Node; this is Bun .*\nNext: bunx showrunner/);
  });
});

describe("the command line runs a pipeline", () => {
  test("of a workspace, from its folder and from the root", async () => {
    const root = dirname(projectOf());
    writeInto(root, { "package.json": '{ "private": true, "workspaces": ["my films"] }' });
    reached(() => install(root));
    const command = ["showrunner", "run", "film.js", ...RUN] as const;
    expect(await ran(root, "npx", "--workspace", "films", ...command)).toMatch(SUCCEEDED);
    expect(await ran(join(root, "my films"), "npx", "showrunner", "show", "a", "--json")).toMatch(SUCCEEDED);
    rmSync(root, { recursive: true, force: true });
  });

  test.each(["22.19.0", "24", "26"])("under Node %s", async (version) => {
    const folder = projectOf();
    reached(() => install(folder));
    const other = mkdtempSync(join(tmpdir(), "showrunner-node-"));
    writeInto(other, { "package.json": '{ "private": true }' });
    reached(() => npm(other, "install", "--no-audit", "--no-fund", `node@${version}`));
    const node = join(other, "node_modules/node/bin/node");
    expect(await ran(folder, node, "--version")).toMatch(new RegExp(`^v${version}\\b`));
    const bin = "node_modules/showrunner/bin/showrunner.js";
    expect(await ran(folder, node, bin, "run", "film.js", ...RUN)).toMatch(SUCCEEDED);
    for (const made of [dirname(folder), other]) rmSync(made, { recursive: true, force: true });
  });

  testNeeding(
    process.getuid?.() === 0
      ? null
      : { what: "another user to run as", cure: "run the tests as root", isOptional: true },
  )("as a user without a name and a home, where one folder can be written", async () => {
    const folder = projectOf();
    reached(() => install(folder));
    const data = join(dirname(folder), "data");
    const uid = 12_345;
    mkdirSync(data);
    chownSync(data, uid, uid);
    chmodSync(dirname(folder), 0o755);
    const env = { PATH: dirname(process.execPath), TMPDIR: "/nowhere", NODE_OPTIONS: "--max-old-space-size=384" };
    const bin = join(folder, "node_modules/showrunner/bin/showrunner.js");
    const made = await endOf({ cwd: data, uid, env }, process.execPath, bin, "run", join(folder, "film.js"), ...RUN);
    expect(made).toMatch(SUCCEEDED);
    rmSync(dirname(folder), { recursive: true, force: true });
  });
});

describe("the handler answers in an app that was built by", () => {
  let app: string;
  beforeAll(() => {
    app = projectOf({
      "handler.js": HANDLER,
      "server.js": SERVER,
      "webpack.config.js": WEBPACK,
      "vite.config.js": 'export default { build: { ssr: "server.js", outDir: "out/vite" } };\n',
      "next.config.js": 'export default { serverExternalPackages: ["showrunner", "showrunner-local"] };\n',
      "app/api/[...path]/route.js": ROUTE,
      "app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;\n",
    });
    reached(() =>
      install(app, "esbuild@0.28", "vite@8", "webpack@5", "webpack-cli@7", "next@16", "react@19", "react-dom@19"),
    );
  });
  afterAll(() => rmSync(dirname(app), { recursive: true, force: true }));

  test.each([
    [
      "esbuild",
      "esbuild server.js --bundle --platform=node --format=esm --packages=external --outfile=out/esbuild.mjs",
      "out/esbuild.mjs",
    ],
    ["webpack", "webpack", "out/webpack.mjs"],
    ["Vite", "vite build", "out/vite/server.js"],
  ])("%s", async (_name, command, made) => {
    const said = await ran(app, "npx", ...command.split(" "));
    expect(await ran(app, process.execPath, made), said).toBe("200 0.02\n");
  });

  test("Next", async () => {
    expect(await ran(app, "npx", "next", "build")).toContain("/api/[...path]");
    const server = spawn("npx", ["next", "start", "--port", "0"], {
      cwd: app,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let printed = "";
        server.stdout.on("data", (text) => {
          printed += text;
          const [found] = /http:\/\/localhost:\d+/.exec(printed) ?? [];
          if (found !== undefined) resolve(found);
        });
        server.on("close", () => reject(new Error(printed)));
      });
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ input: { subject: "a kite" } });
      const answer = await fetch(`${url}/api/poster/quote`, { method: "POST", headers, body });
      expect([answer.status, await answer.json()]).toMatchObject([200, { maximum: "0.02" }]);
    } finally {
      process.kill(-server.pid!, "SIGTERM");
    }
  });
});
