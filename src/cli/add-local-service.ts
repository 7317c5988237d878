import { readFile } from "node:fs/promises";
import { writeDurably } from "../durable-file.ts";
import { ownVersion } from "./own-version.ts";

const NAME = "showrunner-local";
const FIELDS = ["dependencies", "devDependencies", "optionalDependencies"] as const;

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Packages;
  readonly devDependencies?: Packages;
  readonly optionalDependencies?: Packages;
}

type Packages = Readonly<Record<string, string>>;

/**
 * Makes the local service a development dependency of the project, so that its pipelines run without a key. Does not where
 * there is no package.json that can be read.
 */
export async function addLocalService(path: string): Promise<"added" | "had it" | "not added"> {
  const text = await readFile(path, "utf8").catch(() => "");
  const manifest = parsed(text);
  if (manifest === null) return "not added";
  // A clone of Showrunner has it as a workspace.
  const hasIt = manifest.name === "showrunner" || FIELDS.some((field) => manifest[field]?.[NAME] !== undefined);
  if (hasIt) return "had it";
  const added = { ...manifest.devDependencies, [NAME]: `^${ownVersion()}` };
  const sorted = Object.fromEntries(Object.entries(added).sort(([a], [b]) => (a < b ? -1 : 1)));
  const indent = /^\{\s*\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  await writeDurably(path, `${JSON.stringify({ ...manifest, devDependencies: sorted }, null, indent)}\n`);
  return "added";
}

function parsed(text: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? (value as Manifest | null) : null;
  } catch {
    return null;
  }
}
