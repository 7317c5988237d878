/** Both packages as people install and bundle them. Says so where the registry is out of reach, and fails. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { install, type PackageName, type Packed, packages } from "./support/packed.ts";
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
console.log(answer.status, (await answer.json()).maximumUsd);
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

async function ran(cwd: string, program: string, ...args: readonly string[]): Promise<string> {
  const PATH = [dirname(process.execPath), process.env.PATH].join(":");
  const env = { ...process.env, PATH, NEXT_TELEMETRY_DISABLED: "1", YARN_ENABLE_TELEMETRY: "0" };
  const done = promisify(execFile)(program, args, { cwd, env, maxBuffer: 1e8 });
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
    const args = ["run", "film.js", "--local", "--id", "a", "--budget", "1", "-i", "subject=a kite", "--json"];
    expect(await ran(folder, program!, ...before, ...start, "showrunner", ...args), installed).toMatch(
      /"status": ?"succeeded"/,
    );
    rmSync(dirname(folder), { recursive: true, force: true });
  });

  test("Bun, and says that Node runs it where Bun is told to", async () => {
    const bun = join(tools, "node_modules/bun/bin/bun.exe");
    const program = join(import.meta.dirname, "../../bin/showrunner.js");
    expect(await ran(tools, bun, program, "runs")).toMatch(/runs under Node; this is Bun .*\nNext: bunx showrunner/);
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
  });
});
