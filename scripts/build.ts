/** Compiles `src` into `dist` with plain tsc, copies what is no TypeScript, bundles the dashboard's page, and makes the command executable. */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { buildPage } from "./dashboard-page.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
/** Sources of the dashboard's page: bundled on their own, never shipped as they are. */
const page = join(root, "src", "dashboard", "page");

rmSync(dist, { recursive: true, force: true });

const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
const tsc = spawnSync(process.execPath, [join(typescript, "bin", "tsc"), "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

cpSync(join(root, "src"), dist, {
  recursive: true,
  filter: (path) => path !== page && ![".ts", ".tsx", ".md"].includes(extname(path)),
});

await buildPage(join(dist, "dashboard", "page"));
