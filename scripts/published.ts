/** The two packages that this repository publishes, and the packages that each installs, from the lock file. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

export interface Published {
  readonly name: "showrunner" | "showrunner-local";
  /** Folder of its package.json, and its key in the lock file. */
  readonly folder: string;
  /** Packages that are bundled into its code, so that npm does not install them. */
  readonly bundled: readonly string[];
}

export const PUBLISHED: readonly Published[] = [
  {
    name: "showrunner",
    folder: "",
    bundled: [
      ...["@dagrejs/dagre", "@dagrejs/graphlib", "@fastify/busboy", "@fontsource/inter", "@modelcontextprotocol/sdk"],
      ...["buffer-crc32"],
      ...["canonicalize", "commander", "content-type", "csv-parse"],
      ...["eventsource-parser", "fast-string-truncated-width", "fast-string-width", "image-size", "mediabunny"],
      ...["p-queue", "preact", "tinyqueue", "yazl"],
    ],
  },
  { name: "showrunner-local", folder: "src/local-service", bundled: [] },
];

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string>>;
}

export function manifestOf({ folder }: Published): Manifest {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;
}

/** The modules in a package's `exports`, as paths relative to `src` without file extension. */
export function entriesOf(published: Published): readonly string[] {
  return Object.values(manifestOf(published).exports).flatMap((file) => /^\.\/dist\/(.+)\.js$/.exec(file)?.[1] ?? []);
}

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The license text; null if the package has none, or is installed only on some operating systems. */
  readonly text: string | null;
}

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** All packages that are installed with a published package or bundled into it, sorted by name. */
export function shippedPackages(published: Published): readonly Package[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const paths = new Set<string>();
  const add = (from: string, name: string) => {
    const path = installedPath(packages, from, name);
    if (paths.has(path)) return;
    paths.add(path);
    const { dependencies, optionalDependencies } = packages[path]!;
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) add(path, next);
  };
  for (const name of Object.keys(packages[published.folder]?.dependencies ?? {})) add(published.folder, name);
  for (const name of published.bundled) paths.add(installedPath(packages, published.folder, name));
  return [...paths]
    .map((path) => packageAt(path, packages[path]!))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Returns the path at which Node finds a dependency of the package at `from`: in the nearest `node_modules`. */
function installedPath(packages: Readonly<Record<string, Locked>>, from: string, name: string): string {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const path = `${at}${at === "" ? "" : "/"}node_modules/${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (at === "")
      throw new Error(`package-lock.json lacks ${name}, which ${from || "showrunner"} needs; run npm install`);
  }
}

function packageAt(path: string, { version = "", license = "see its text", os }: Locked): Package {
  return {
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    version,
    licence: license,
    // A binary for one operating system is not installed everywhere, and has the license of the package that needs it.
    text: os === undefined ? licenceText(join(root, path)) : null,
  };
}

function licenceText(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  return texts.length === 0 ? null : texts.join("\n\n");
}
