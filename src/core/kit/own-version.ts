import { readFileSync } from "node:fs";

interface Manifest {
  readonly version: string;
  readonly devDependencies?: Readonly<Record<string, string>>;
  /** Set by a release. */
  readonly published?: true;
}

let known: Manifest | null = null;

function ownManifest(): Manifest {
  known ??= JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as Manifest;
  return known;
}

export function ownVersion(): string {
  return ownManifest().version;
}

/** The version range of a package with which our recipes are tested. */
export function ownRange(name: string): string {
  return `^${ownManifest().devDependencies?.[name] ?? "*"}`;
}

/** True if we own our names on npm; before a release, the names may be somebody else's. */
export function isPublished(): boolean {
  return ownManifest().published === true;
}

/**
 * The command that installs our other package: by name once published, before that from the tarball that a clone
 * builds.
 */
export function installCommand(name: "showrunner-local"): string {
  if (isPublished()) return `npm i -D ${name}`;
  return `npm i -D CLONE/packed/${name}-${ownVersion()}.tgz   (from npm run pack in a clone of Showrunner)`;
}

/** True if the first version is newer; ignores what follows a hyphen. */
export function isNewerVersion(version: string, than: string): boolean {
  const parts = (text: string) => text.split("-")[0]!.split(".").map(Number);
  const [found, needed] = [parts(version), parts(than)];
  const differs = found.findIndex((part, index) => part !== needed[index]);
  return differs >= 0 && found[differs]! > (needed[differs] ?? 0);
}
