import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../../..");
const shelf = join(root, ".showrunner", "packed");
const lock = `${shelf}.lock`;

export type PackageName = "showrunner" | "showrunner-local";
export interface Packed {
  /** The tarball. */
  readonly file: string;
  readonly paths: readonly string[];
}

export function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

/**
 * Both packages as they are published, built and packed once for all test files: those that run beside each other wait for
 * the first, and a change of the sources makes new ones.
 */
export async function packages(): Promise<ReadonlyMap<PackageName, Packed>> {
  mkdirSync(join(root, ".showrunner"), { recursive: true });
  while (!locked()) await new Promise((done) => setTimeout(done, 200));
  try {
    const stamp = newest();
    const made = join(shelf, "made.json");
    const found = read(made);
    if (found?.stamp === stamp) return new Map(found.packed);
    rmSync(shelf, { recursive: true, force: true });
    mkdirSync(shelf, { recursive: true });
    execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "ignore" });
    const packed = [pack("showrunner", "."), pack("showrunner-local", "./dist/local")] as const;
    writeFileSync(made, JSON.stringify({ stamp, packed }));
    return new Map(packed);
  } finally {
    rmSync(lock, { recursive: true });
  }
}

function pack(name: PackageName, from: string): readonly [PackageName, Packed] {
  const [made] = JSON.parse(npm(root, "pack", from, "--ignore-scripts", "--json", "--pack-destination", shelf)) as {
    readonly filename: string;
    readonly files: readonly { readonly path: string }[];
  }[];
  return [name, { file: join(shelf, made!.filename), paths: made!.files.map(({ path }) => path) }];
}

/** As a user does; what lies in npm's cache is not fetched again. */
export function install(folder: string, ...what: readonly string[]): void {
  npm(folder, "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", ...what);
}

/** When anything that is published was changed last. */
function newest(): number {
  const files = ["{src,scripts,bin,docs}/**/*.*", "*.{json,md}"].flatMap((pattern) => globSync(pattern, { cwd: root }));
  return Math.max(...files.map((file) => statSync(join(root, file)).mtimeMs));
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

/** A folder is made by one process only. One that is older than ten minutes was left behind by a process that was killed. */
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
