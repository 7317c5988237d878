/** The two packages that this tree publishes, and what an install of each brings, read from the lock file. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

export interface Published {
  readonly name: "showrunner" | "showrunner-local";
  /** Folder of its package.json; also its key in the lock file. */
  readonly folder: string;
  /** Packages built into what it publishes, so that no install brings them. */
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

/** The modules that the exports of `showrunner` name, as paths below `src` without ending. */
export function entriesOf(published: Published): readonly string[] {
  return Object.values(manifestOf(published).exports).flatMap((file) => /^\.\/dist\/(.+)\.js$/.exec(file)?.[1] ?? []);
}

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Null for one that is there on some machines only, or that brings no text. */
  readonly text: string | null;
}

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Every package that an install of this one brings, and those built into it. */
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

/** Where Node finds a dependency of the package at `from`: the nearest `node_modules` that holds it. */
function installedPath(packages: Readonly<Record<string, Locked>>, from: string, name: string): string {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const path = `${at}${at === "" ? "" : "/"}node_modules/${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (at === "")
      throw new Error(`${name}, which ${from || "showrunner"} needs, is not in package-lock.json: npm install`);
  }
}

function packageAt(path: string, { version = "", license = "see its text", os }: Locked): Package {
  return {
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    version,
    licence: license,
    // Compiled for one system each: what is installed differs by machine, and their licence is their package's.
    text: os === undefined ? licenceText(join(root, path)) : null,
  };
}

function licenceText(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  return texts.length === 0 ? null : texts.join("\n\n");
}
