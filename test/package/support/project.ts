import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packages, root } from "./packed.ts";

export interface Installed {
  /** `node_modules` of a project. */
  readonly modules: string;
  /** Folder of `npx`, which starts programs of the project. */
  readonly bin: string;
}

/**
 * Installs both packages in the published form. Their dependencies are linked to this repository's, which saves time; test/package
 * installs the dependencies too.
 */
export async function installed(): Promise<Installed> {
  const base = mkdtempSync(join(tmpdir(), "showrunner-docs-"));
  const modules = join(base, "node_modules");
  mkdirSync(modules);
  for (const [name, { file }] of await packages()) {
    mkdirSync(join(modules, name));
    execFileSync("tar", ["xzf", file, "--strip-components=1", "-C", join(modules, name)]);
  }
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (!name.startsWith(".") && !name.startsWith("showrunner"))
      symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  const bin = join(base, "bin");
  const program = join(modules, "showrunner/bin/showrunner.js");
  mkdirSync(bin);
  const npx = `#!/bin/sh\n[ "$1" = showrunner ] || exit 127\nshift\nnpm_command=exec exec '${process.execPath}' '${program}' "$@"\n`;
  writeFileSync(join(bin, "npx"), npx, { mode: 0o755 });
  return { modules, bin };
}

/** Creates a project folder with the recipes. */
export function makeProject({ modules }: Installed): string {
  const folder = mkdtempSync(join(dirname(modules), "project-"));
  symlinkSync(modules, join(folder, "node_modules"));
  cpSync(join(root, "recipes"), join(folder, "recipes"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  return folder;
}

export function writeInto(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}
