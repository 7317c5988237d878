import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { FilmError } from "../ffmpeg/film-error.ts";
import { ffmpegWith, type Requirement } from "../ffmpeg/requirement.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { ass, assEvent, assText, DEFAULT_FONT, type LetterStyle } from "./ass.ts";

export interface Letters {
  readonly texts: readonly string[];
  readonly style: LetterStyle;
}

const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}]/u;
const MOST_NAMED = 8;

/** Checks that the fonts have every character, because a missing one would be drawn as a box. @throws FilmError */
export async function checkLetters(letters: Letters, signal: AbortSignal): Promise<void> {
  const lack = await lackIn(charactersOf(letters), letters.style, signal);
  if (lack !== null) throw new FilmError("FILM_INPUT", lack);
}

export function lettersDrawn(letters: Letters): Requirement {
  return async () => (await ffmpegWith("lettering")()) ?? (await inTurn(letters));
}

const drawn = new Map<string, Set<string>>();
let turn: Promise<unknown> = Promise.resolve();

function inTurn(letters: Letters): Promise<string | null> {
  const { font, fontFile } = letters.style;
  const key = JSON.stringify([font, fontFile]);
  const known = drawn.get(key) ?? new Set();
  drawn.set(key, known);
  const answer = turn.then(async () => {
    const unknown = charactersOf(letters).filter((character) => !known.has(character));
    const lack = await lackIn(unknown, letters.style);
    if (lack === null) for (const one of unknown) known.add(one);
    return lack;
  });
  turn = answer.catch(() => {});
  return answer;
}

function charactersOf({ texts }: Letters): readonly string[] {
  return [...new Set(texts.join("").normalize("NFC"))].filter((character) => !UNSEEN.test(character));
}

async function lackIn(characters: readonly string[], style: LetterStyle, signal?: AbortSignal): Promise<string | null> {
  if (characters.length === 0) return null;
  const folder = await mkdtemp(join(tmpdir(), "showrunner-letters-"));
  try {
    const event = assEvent({ start: 0, end: 1 }, assText(characters.join("")));
    const filter = await assFilter(ass([event], { pixels: { width: 64, height: 64 }, style }), style, folder);
    const args = ["-filter_complex", `color=s=64x64:d=0.1,${filter}[out]`, "-map", "[out]", "-frames:v", "1"];
    const log = await runFfmpeg({ inputs: [], args, target: null, cwd: folder, isVerbose: true, signal });
    const codes = [...log.matchAll(/failed to find any fallback with glyph 0x([0-9a-f]+)/gi)].map(([, hex]) => hex!);
    return codes.length === 0 ? null : lackText([...new Set(codes)], style);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function lackText(codes: readonly string[], { font = DEFAULT_FONT, fontFile }: LetterStyle): string {
  const named = codes.slice(0, MOST_NAMED).map((hex) => `${String.fromCodePoint(Number.parseInt(hex, 16))} (U+${hex})`);
  const more = codes.length > MOST_NAMED ? ` and ${codes.length - MOST_NAMED} more` : "";
  return (
    `neither ${fontFile ?? font} nor any other installed font has ${named.join(", ")}${more}, which would render as boxes. ` +
    "Install a font that has these characters, or set style.fontFile to its path"
  );
}

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
