import { globSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Time of the last change to any matching file, in epoch milliseconds; 0 if no file matches. */
export function newest(...patterns: readonly string[]): number {
  // The build writes the one that is left out.
  const files = globSync([...patterns], { cwd: root, exclude: ["THIRD_PARTY_NOTICES.md"] });
  return Math.max(0, ...files.map((file) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0));
}

/** True if the last file of a build is newer than all of its sources. */
export function isBuilt(): boolean {
  return newest("dist/studio/dashboard/page/index.html") > newest("{src,scripts}/**/*.*", "*.json");
}

export const sourceCommand = join(root, "src/cli/main.ts");

/** The built command line, which loads in half the time; its source if it is not built. */
export const ownCommand = isBuilt() ? join(root, "dist/cli/main.js") : sourceCommand;
