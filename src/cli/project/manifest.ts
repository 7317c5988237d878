import { glob, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeDurably } from "../../core/kit/files.ts";
import { isPublished, ownRange, ownVersion } from "../../core/kit/own-version.ts";

const FIELDS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const;

const ownNames = ["showrunner", "showrunner-local"];

type Packages = Readonly<Record<string, string>>;
type Field = (typeof FIELDS)[number];

interface Manifest extends Readonly<Partial<Record<Field, Packages>>> {
  readonly name?: string;
  readonly type?: string;
}

export const NOT_READABLE = "package.json cannot be read or is not valid JSON";

export interface Project {
  readonly manifest: "written" | "changed" | "unchanged" | "unreadable";
  readonly added: readonly string[];
  /** Showrunner packages that the project lacks and that are not published on npm yet. */
  readonly lacking: readonly string[];
  readonly isEsm: boolean;
  readonly isNowEsm: boolean;
  write(): Promise<void>;
}

function needed(more: readonly string[]): readonly (readonly [Field, string, string])[] {
  const own = `^${ownVersion()}`;
  return [
    ["dependencies", "showrunner", own],
    ["dependencies", "zod", "^4.0.0"],
    ["devDependencies", "showrunner-local", own],
    ["devDependencies", "@types/node", ">=22"],
    ...more.map((name) => ["dependencies", name, ownRange(name)] as const),
  ];
}

export async function manifestFor(path: string, more: readonly string[] = []): Promise<Project> {
  // A file that exists but cannot be read must not be replaced.
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? null : "",
  );
  const before: Manifest | null = text === null ? {} : parsed(text);
  if (before === null) {
    const left = { manifest: "unreadable", added: [], isEsm: false, isNowEsm: false } as const;
    return { ...left, lacking: isPublished() ? [] : ownNames, write: async () => {} };
  }
  // A clone of Showrunner already has everything.
  const absent =
    before.name === "showrunner"
      ? []
      : needed(more).filter(([, name]) => !FIELDS.some((field) => before[field]?.[name]));
  const isOurs = (name: string) => !isPublished() && ownNames.includes(name);
  const missing = absent.filter(([, name]) => !isOurs(name));
  const isNowEsm = before.type !== "module" && !(await hasOtherCode(dirname(path)));
  let after: Manifest = { ...(text === null && { private: true }), ...before, ...(isNowEsm && { type: "module" }) };
  for (const [field, name, version] of missing)
    after = { ...after, [field]: sorted({ ...after[field], [name]: version }) };
  const isChanged = isNowEsm || missing.length > 0;
  const indent = /^\{\s*\n([ \t]+)"/.exec(text ?? "")?.[1] ?? "  ";
  return {
    manifest: text === null ? "written" : isChanged ? "changed" : "unchanged",
    added: missing.map(([, name]) => name),
    lacking: absent.map(([, name]) => name).filter(isOurs),
    isEsm: after.type === "module",
    isNowEsm,
    write: async () => {
      if (isChanged) await writeDurably(path, `${JSON.stringify(after, null, indent)}\n`);
    },
  };
}

function parsed(text: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? (value as Manifest | null) : null;
  } catch {
    return null;
  }
}

function sorted(packages: Packages): Packages {
  return Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** If a project has more source files than this, its module type is left unchanged. */
const MOST_READ = 200;

/** Returns whether a folder contains code that "type": "module" would break, or too many files to check. */
export async function hasOtherCode(folder: string): Promise<boolean> {
  let read = 0;
  const exclude = (name: string) => /(^|[\\/])(node_modules|\.[^\\/]+|dist|out)$/.test(name);
  for await (const file of glob("**/*.{js,jsx,ts,tsx}", { cwd: folder, exclude })) {
    const path = join(folder, file);
    // A folder may be named like a source file: vendor/three.js/
    if (file.endsWith(".d.ts") || (await stat(path).catch(() => null))?.isFile() !== true) continue;
    if (++read > MOST_READ || !isModule(await readFile(path, "utf8"))) return true;
  }
  return false;
}

/**
 * Returns whether Node can run the code as an ES module: it uses no CommonJS, and its relative imports have a file
 * extension.
 */
function isModule(text: string): boolean {
  if (!/^\s*(?:import|export)\b/m.test(text)) return false;
  return !/\b(?:require\s*\(|module\.exports\b)|(?:from|import)\s+["']\.{1,2}\/(?:[^"']*\/)?[^"'./]+["']/.test(text);
}
