import { globSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** When anything of these was changed last, milliseconds since the epoch; 0 where there is nothing of them. */
export function newest(...patterns: readonly string[]): number {
  // The build writes the one that is left out.
  const files = globSync([...patterns], { cwd: root, exclude: ["THIRD_PARTY_NOTICES.md"] });
  return Math.max(0, ...files.map((file) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0));
}

/** Whether what a build writes last is younger than all that it is made from. */
export function isBuilt(): boolean {
  return newest("dist/studio/dashboard/page/index.html") > newest("{src,scripts}/**/*.*", "*.json");
}

export const sourceCommand = join(root, "src/cli/main.ts");

/** The command line as users have it, which loads in half the time; its sources where they are not built. */
export const ownCommand = isBuilt() ? join(root, "dist/cli/main.js") : sourceCommand;
