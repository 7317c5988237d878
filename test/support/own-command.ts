import { globSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

function modified(file: string): number {
  return statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Whether what a build writes last is younger than all that it is made from. */
export function isBuilt(): boolean {
  const sources = globSync(["{src,scripts}/**/*.*", "*.json"], { cwd: root });
  return modified("dist/dashboard/page/index.html") > Math.max(...sources.map(modified));
}

export const sourceCommand = join(root, "src/cli/main.ts");

/** The command line as users have it, which loads in half the time; its sources where they are not built. */
export const ownCommand = isBuilt() ? join(root, "dist/cli/main.js") : sourceCommand;
