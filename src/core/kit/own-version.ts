import { readFileSync } from "node:fs";

interface Manifest {
  readonly version: string;
  readonly devDependencies?: Readonly<Record<string, string>>;
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

export function ownRange(name: string): string {
  return `^${ownManifest().devDependencies?.[name] ?? "*"}`;
}

/**
 * True if Showrunner's packages are published on npm. If not, packages of the same names there may belong to somebody
 * else.
 */
export function isPublished(): boolean {
  return ownManifest().published === true;
}

export function installCommand(name: "showrunner-local"): string {
  if (isPublished()) return `npm i -D ${name}`;
  return `npm i -D CLONE/packed/${name}-${ownVersion()}.tgz   (CLONE: a clone of Showrunner; run npm run pack in it first)`;
}

export function isNewerVersion(version: string, than: string): boolean {
  const parts = (text: string) => text.split("-")[0]!.split(".").map(Number);
  const [found, needed] = [parts(version), parts(than)];
  const differs = found.findIndex((part, index) => part !== needed[index]);
  return differs >= 0 && found[differs]! > (needed[differs] ?? 0);
}
