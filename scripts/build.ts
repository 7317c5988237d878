/**
 * Compiles `src` into `dist` with plain tsc, copies what is no TypeScript, and bundles the dashboard's page and the reader of
 * media containers. `dist/local` is a package of its own: `npm pack ./dist/local`.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { build } from "vite";
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
await bundle("engine/media/media-container");
moveLocalService(join(dist, "local"));

/** Puts the libraries that a module exports into its file, in place of what tsc made of it. */
async function bundle(name: string): Promise<void> {
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    ssr: { noExternal: true },
    build: { ssr: join("src", `${name}.ts`), outDir: dirname(join(dist, name)), emptyOutDir: false, target: "node22" },
  });
  // Nobody's types name it, and what it declares is not installed.
  rmSync(join(dist, `${name}.d.ts`));
}

/** Lays the local service out as a package, with a copy of the data that both packages read. */
function moveLocalService(folder: string): void {
  mkdirSync(folder);
  renameSync(join(dist, "local-service"), join(folder, "local-service"));
  for (const shared of ["families", "errors.js", "errors.d.ts"]) {
    cpSync(join(dist, shared), join(folder, shared), { recursive: true });
  }
  renameSync(join(folder, "local-service", "package.json"), join(folder, "package.json"));
  const manifest = join(folder, "package.json");
  // In a clone Node runs the sources; published is what was compiled.
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace("./index.ts", "./local-service/index.js"));
  const local = join(root, "src", "local-service");
  for (const file of ["README.md", "THIRD_PARTY_NOTICES.md"]) cpSync(join(local, file), join(folder, file));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
}
