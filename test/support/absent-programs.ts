import { existsSync, globSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Absence } from "./absence.ts";

export const chromium = process.env.SHOWRUNNER_CHROMIUM ?? "/usr/bin/chromium";

const isOnPath = (name: string) =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

/** Programs by the helper that starts them. */
const programs: readonly (Absence & { readonly helper: string; readonly isHere: boolean })[] = [
  {
    helper: "support/browser.ts",
    isHere: existsSync(chromium),
    what: "Chromium",
    cure: "apt-get install chromium, or its path in SHOWRUNNER_CHROMIUM",
  },
  {
    helper: "support/ffmpeg.ts",
    isHere: isOnPath("ffmpeg") && isOnPath("ffprobe"),
    what: "ffmpeg",
    cure: "apt-get install ffmpeg",
  },
  { helper: "support/terminal.ts", isHere: isOnPath("tmux"), what: "tmux", cure: "apt-get install tmux" },
  {
    helper: "support/media-programs.ts",
    isHere: isOnPath("ffmpeg") && isOnPath("exiftool"),
    what: "ffmpeg or exiftool",
    cure: "apt-get install ffmpeg libimage-exiftool-perl",
  },
];

/** Test files that import the helper of a program which is not here, with what they lack. In CI that is a failure. */
export function filesWithoutProgram(): ReadonlyMap<string, string> {
  const absent = programs.filter(({ isHere }) => !isHere);
  if (process.env.CI !== undefined && absent.length > 0)
    throw new Error(`CI lacks ${absent.map(({ what, cure }) => `${what}: ${cure}`).join("; ")}`);
  const root = join(import.meta.dirname, "../..");
  const files =
    absent.length === 0 ? [] : globSync("test/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**"] });
  const found = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const lacking = absent.find(({ helper }) => text.includes(`${helper}"`));
    return lacking === undefined ? [] : [[file, `${lacking.what}: ${lacking.cure}`] as const];
  });
  return new Map(found);
}
