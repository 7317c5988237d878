import { readFileSync } from "node:fs";

interface Manifest {
  readonly version: string;
  readonly devDependencies?: Readonly<Record<string, string>>;
  /** Written by a release. */
  readonly published?: true;
}

let known: Manifest | null = null;

/** The manifest of this package; read when it is first asked for. */
function ownManifest(): Manifest {
  known ??= JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as Manifest;
  return known;
}

/** The version of this package. */
export function ownVersion(): string {
  return ownManifest().version;
}

/** The version of a package that our own recipes are tried with. */
export function ownRange(name: string): string {
  return `^${ownManifest().devDependencies?.[name] ?? "*"}`;
}

/** Whether our names on npm are ours: somebody else's package may have them before a release. */
export function isPublished(): boolean {
  return ownManifest().published === true;
}

/** The command that installs our other package: by its name once it is published, else from the tarball that a clone makes. */
export function installCommand(name: "showrunner-local"): string {
  if (isPublished()) return `npm i -D ${name}`;
  return `npm i -D CLONE/packed/${name}-${ownVersion()}.tgz   (npm run pack makes it, in a clone of Showrunner)`;
}

/** Whether the first version comes after the second; what follows a hyphen does not count. */
export function isNewerVersion(version: string, than: string): boolean {
  const parts = (text: string) => text.split("-")[0]!.split(".").map(Number);
  const [found, needed] = [parts(version), parts(than)];
  const differs = found.findIndex((part, index) => part !== needed[index]);
  return differs >= 0 && found[differs]! > (needed[differs] ?? 0);
}
