/** Bundles the dashboard's page: `buildPage` into any folder, `builtPage` into a cache for the current sources. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = join(import.meta.dirname, "..");
const sources = join(root, "src", "studio", "dashboard");
const page = join(sources, "page");
const cache = join(root, "node_modules", ".cache", "showrunner-dashboard");

/**
 * Empties a folder, then writes index.html and its assets to it, with content hashes in their names. Writes the page for
 * review links, with its own assets, to the subfolder `shared`.
 */
export async function buildPage(outDir: string): Promise<void> {
  const { NODE_ENV: before } = process.env;
  // With the NODE_ENV of a test, the page would be a third larger and differ from the published one.
  process.env.NODE_ENV = "production";
  try {
    await bundle("index.html", "/", outDir);
    await bundle("shared.html", "/shared/", join(outDir, "shared"));
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
  writeFileSync(join(outDir, "LICENSES.txt"), licences());
}

async function bundle(input: string, base: string, outDir: string): Promise<void> {
  await build({
    root: page,
    base,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: {
      outDir,
      emptyOutDir: true,
      rollupOptions: { input: join(page, input) },
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: ["chrome123", "safari17.5", "firefox121"],
      cssTarget: ["chrome123", "safari17.5", "firefox121"],
    },
  });
}

/** The license texts of the bundled libraries and the font, which must be distributed with them. */
function licences(): string {
  const bundled = ["preact", "@dagrejs/dagre", "@dagrejs/graphlib", "@fontsource/inter"];
  const texts = bundled.map((name) => {
    const folder = join(root, "node_modules", name);
    return existsSync(folder) ? `${name}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n` : "";
  });
  return `The dashboard's page contains these third-party works.\n\n${texts.filter(Boolean).join("\n---\n\n")}`;
}

/** Returns a folder with the page built from the current sources. Several processes can call this in parallel. */
export async function builtPage(): Promise<string> {
  const folder = join(cache, digest());
  if (existsSync(join(folder, "index.html"))) return folder;
  const draft = join(cache, `draft-${randomUUID()}`);
  mkdirSync(cache, { recursive: true });
  try {
    await buildPage(draft);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(join(folder, "index.html"))) throw error;
  }
  return folder;
}

/** Total size of the scripts that a browser loads, in compressed bytes. */
export function scriptBytes(folder: string): number {
  const files = globSync("assets/*.js", { cwd: folder }).map((file) => readFileSync(join(folder, file)));
  return files.reduce((sum, bytes) => sum + gzipSync(bytes).length, 0);
}

function digest(): string {
  const hash = createHash("sha256").update(readFileSync(import.meta.filename));
  const files = globSync("{page,views}/**/*.*", { cwd: sources }).map((file) => join(sources, file));
  for (const file of [...files.sort(), join(root, "package-lock.json")]) hash.update(file).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}
