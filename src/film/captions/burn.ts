import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { FilmError } from "../ffmpeg/film-error.ts";
import type { LetterStyle } from "./ass.ts";

export async function assFilter(script: string, { fontFile }: LetterStyle, folder: string): Promise<string> {
  await writeFile(join(folder, "letters.ass"), script);
  if (fontFile === undefined) return "ass=letters.ass";
  const fonts = join(folder, "fonts");
  await mkdir(fonts, { recursive: true });
  await copyFile(fontFile, join(fonts, `font${extname(fontFile)}`)).catch((cause: Error) => {
    throw new FilmError("FILM_INPUT", `the font file ${fontFile} cannot be read: ${cause.message}`, { cause });
  });
  return "ass=letters.ass:fontsdir=fonts";
}

export function fontsDrawn(log: string): readonly string[] {
  const found = [...log.matchAll(/fontselect: \([^)]*\) -> ([^,\n]+)/g)].map(([, name]) => name!.trim());
  return [...new Set(found.map((name) => name.slice(name.lastIndexOf("/") + 1)))].toSorted();
}
