/**
 * `npm run pack`: packs both packages, which `prepack` has built, into `packed/`, and prints the line that installs them in a project.
 * Nothing is published yet, so that this is how a project of one's own gets them.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../src/core/kit/shell-word.ts";
import { PUBLISHED, type Published, root } from "./published.ts";

export interface Packed {
  /** The tarball, absolute. */
  readonly file: string;
  /** What it holds, relative to the package. */
  readonly paths: readonly string[];
}

/** Packs what was built into a folder, which loses what it held. */
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
  console.log(`In a project of your own:\n  npm i ${main} zod && npm i -D ${local} @types/node\n  npx showrunner init`);
}
