import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Packed, packInto } from "../../../scripts/pack.ts";
import { type Published, root } from "../../../scripts/published.ts";
import { isBuilt, newest } from "../../support/own-command.ts";

export { type Packed, root };

const shelf = join(root, ".showrunner", "packed");
const lock = `${shelf}.lock`;

export type PackageName = Published["name"];

export function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

/**
 * Builds and packs both packages in the published form, once for all test files. Parallel test files wait for the first,
 * and changed sources are packed again.
 */
export async function packages(): Promise<ReadonlyMap<PackageName, Packed>> {
  mkdirSync(join(root, ".showrunner"), { recursive: true });
  while (!locked()) await new Promise((done) => setTimeout(done, 200));
  try {
    const stamp = newest("{src,scripts,bin,docs,recipes,skills}/**/*.*", "*.{json,md}");
    const made = join(shelf, "made.json");
    const found = read(made);
    if (found?.stamp === stamp) return new Map(found.packed);
    if (!isBuilt()) execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "ignore" });
    const packed = [...packInto(shelf)];
    writeFileSync(made, JSON.stringify({ stamp, packed }));
    return new Map(packed);
  } finally {
    rmSync(lock, { recursive: true });
  }
}

/** Installs packages in the same way as a user; packages in npm's cache are not downloaded again. */
export function install(folder: string, ...what: readonly string[]): void {
  npm(folder, "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", ...what);
}

function read(
  file: string,
): { readonly stamp: number; readonly packed: readonly (readonly [PackageName, Packed])[] } | null {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  }
}

/** Tries to create the lock folder. A folder that is older than ten minutes was left by a killed process. */
function locked(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > 600_000) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}
