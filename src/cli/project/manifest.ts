import { readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { writeDurably } from "../../durable-file.ts";
import { ownVersion } from "../../own-version.ts";

const FIELDS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const;

type Packages = Readonly<Record<string, string>>;
type Field = (typeof FIELDS)[number];

interface Manifest extends Readonly<Partial<Record<Field, Packages>>> {
  readonly name?: string;
  readonly type?: string;
}

export interface Project {
  /** What became of package.json. */
  readonly manifest: "written" | "changed" | "as it was" | "not readable";
  /** Packages that it names now and did not before, to be installed. */
  readonly added: readonly string[];
  /** What Node takes the project's `.ts` files for; `detected`: modules, because of their imports. */
  readonly modules: "esm" | "commonjs" | "detected";
  readonly isNowEsm: boolean;
}

/** What a pipeline imports, and the local service that it runs on without a key. */
function needed(): readonly (readonly [Field, string, string])[] {
  const own = `^${ownVersion()}`;
  return [
    ["dependencies", "showrunner", own],
    ["dependencies", "zod", "^4.0.0"],
    ["devDependencies", "showrunner-local", own],
  ];
}

/**
 * Completes the package.json of a project, or begins one. A project without code of its own becomes one of ES modules, which
 * pipelines are; one with code keeps the kind that it has.
 */
export async function completeManifest(path: string): Promise<Project> {
  const text = await readFile(path, "utf8").catch(() => null);
  const before: Manifest | null = text === null ? {} : parsed(text);
  if (before === null) return { manifest: "not readable", added: [], modules: "detected", isNowEsm: false };
  // A clone of Showrunner has all of it.
  const missing =
    before.name === "showrunner" ? [] : needed().filter(([, name]) => !FIELDS.some((field) => before[field]?.[name]));
  const isNowEsm = before.type !== "module" && !(await hasCode(dirname(path)));
  let after: Manifest = { ...(text === null && { private: true }), ...before, ...(isNowEsm && { type: "module" }) };
  for (const [field, name, version] of missing)
    after = { ...after, [field]: sorted({ ...after[field], [name]: version }) };
  const isChanged = isNowEsm || missing.length > 0;
  const indent = /^\{\s*\n([ \t]+)"/.exec(text ?? "")?.[1] ?? "  ";
  if (isChanged) await writeDurably(path, `${JSON.stringify(after, null, indent)}\n`);
  return {
    manifest: text === null ? "written" : isChanged ? "changed" : "as it was",
    added: missing.map(([, name]) => name),
    modules: after.type === "module" ? "esm" : after.type === "commonjs" ? "commonjs" : "detected",
    isNowEsm,
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

/** Whether a folder holds programs, in itself or in the folders in which they usually lie. */
async function hasCode(folder: string): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.some((entry) =>
    entry.isDirectory()
      ? /^(src|lib|app|apps|packages|pages|server|scripts|test|tests)$/.test(entry.name)
      : /\.[cm]?[jt]sx?$/.test(entry.name),
  );
}
