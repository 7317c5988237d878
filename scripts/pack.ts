/**
 * `npm run pack`: packs both packages, which `prepack` has built, to `packed/`, and prints the command that installs them
 * in another project. This is the only way to install them while they are not on npm.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../src/core/kit/value-text.ts";
import { PUBLISHED, type Published, root } from "./published.ts";

export interface Packed {
  /** Absolute path of the tarball. */
  readonly file: string;
  /** Paths of the files in the tarball, relative to the package. */
  readonly paths: readonly string[];
}

/** Empties a folder, then packs both built packages to it. */
export function packInto(folder: string): ReadonlyMap<Published["name"], Packed> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return new Map(
    PUBLISHED.map(({ name, folder: from }) => [name, pack(from === "" ? "." : "./dist/local", folder)] as const),
  );
}

function pack(from: string, folder: string): Packed {
  const args = ["pack", from, "--ignore-scripts", "--json", "--pack-destination", folder];
  const said = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [made] = JSON.parse(said) as {
    readonly filename: string;
    readonly files: readonly { readonly path: string }[];
  }[];
  return { file: join(folder, made!.filename), paths: made!.files.map(({ path }) => path) };
}

if (import.meta.main) {
  const packed = packInto(join(root, "packed"));
  const [main, local] = PUBLISHED.map(({ name }) => shellWord(packed.get(name)!.file));
  console.log(
    `To install them in your own project:\n  npm i ${main} zod && npm i -D ${local} @types/node\n  npx showrunner init`,
  );
}
