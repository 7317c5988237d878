/** Bundles the dashboard's page: `buildPage` into a folder, `builtPage` into a cache that lasts until a source changes. */
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
 * Writes index.html and its assets, named by their content, into a folder that it empties; below it, with assets of its own, the
 * page that review links lead to.
 */
export async function buildPage(outDir: string): Promise<void> {
  const { NODE_ENV: before } = process.env;
  // A test's own would make another page than the one that is shipped, a third longer.
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

/** What the bundled libraries and the font ask to be passed on. */
function licences(): string {
  const bundled = ["preact", "@dagrejs/dagre", "@dagrejs/graphlib", "@fontsource/inter"];
  const texts = bundled.map((name) => {
    const folder = join(root, "node_modules", name);
    return existsSync(folder) ? `${name}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n` : "";
  });
  return `The dashboard's page holds these works of others.\n\n${texts.filter(Boolean).join("\n---\n\n")}`;
}

/** The folder of the page as its sources are now. Two processes that build it at once both succeed. */
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

/** Bytes of script that a browser loads, compressed as for sending. */
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
