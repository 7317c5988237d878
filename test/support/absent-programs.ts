import { existsSync, globSync, readFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import type { Absence } from "./absence.ts";

const pathOf = (name: string) =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(existsSync);
const isOnPath = (name: string) => pathOf(name) !== undefined;

/** Path of Chromium; empty if it is not installed. */
export const chromium = process.env.SHOWRUNNER_CHROMIUM ?? pathOf("chromium") ?? "";

/** Programs by the helper file that starts them. A test file requires a program if it imports the helper, directly or not. */
const programs: readonly (Absence & { readonly helper: string; readonly isHere: boolean })[] = [
  {
    helper: "test/demo/support/browser.ts",
    isHere: existsSync(chromium),
    what: "Chromium",
    cure: "apt-get install chromium, or its path in SHOWRUNNER_CHROMIUM",
  },
  {
    helper: "test/film/support/ffmpeg.ts",
    isHere: isOnPath("ffmpeg") && isOnPath("ffprobe"),
    what: "ffmpeg",
    cure: "apt-get install ffmpeg",
  },
  { helper: "test/cli/support/terminal.ts", isHere: isOnPath("tmux"), what: "tmux", cure: "apt-get install tmux" },
  {
    helper: "test/support/media-programs.ts",
    isHere: isOnPath("ffmpeg") && isOnPath("exiftool"),
    what: "ffmpeg or exiftool",
    cure: "apt-get install ffmpeg libimage-exiftool-perl",
  },
];

/** Test files that require programs, relative to the repository; each with a missing program, or null. */
export function filesAskingForPrograms(): ReadonlyMap<string, Absence | null> {
  const root = join(import.meta.dirname, "../..");
  const files = globSync("test/**/*.ts", { cwd: root, exclude: ["**/node_modules/**"] });
  const importers = Map.groupBy(
    files.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+\.ts)"/g)].map(([, path]) => ({
        file,
        imported: resolve(root, dirname(file), path!),
      })),
    ),
    ({ imported }) => imported,
  );
  const found = new Map<string, Absence | null>();
  for (const { helper, isHere, what, cure } of programs) {
    const reached = new Set([join(root, helper)]);
    for (const one of reached) for (const { file } of importers.get(one) ?? []) reached.add(join(root, file));
    for (const file of files.filter((one) => one.endsWith(".test.ts") && reached.has(join(root, one))))
      found.set(file, found.get(file) ?? (isHere ? null : { what, cure }));
  }
  return found;
}
