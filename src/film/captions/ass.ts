import { FilmError } from "../ffmpeg/film-error.ts";
import type { Pixels } from "../graph/frame.ts";
import { CAPTION_SIZE, captionBox, linePx } from "../graph/layout.ts";
import type { Cue } from "./cues.ts";

/** Font, size, colors and position of captions. */
export interface LetterStyle {
  /** Font family known to fontconfig or contained in `fontFile`. Default `DejaVu Sans`, or fontconfig's substitute. */
  readonly font?: string;
  /** Path of a font file. If set, text looks the same on every machine. */
  readonly fontFile?: string;
  /** Text height as a fraction of the frame's shorter side. Default 0.05. */
  readonly size?: number;
  /** Text color, `#rrggbb`. Default white. */
  readonly color?: string;
  /** Color of the outline or box, `#rrggbb`. Default black. */
  readonly outline?: string;
  /** True to draw a box behind the text instead of an outline. Default false. */
  readonly box?: boolean;
  /** Color of the word that is being spoken, `#rrggbb`. By default, words are not highlighted. */
  readonly highlight?: string;
  /** Where the captions are shown. Default `bottom`. */
  readonly position?: "top" | "middle" | "bottom";
}

export const DEFAULT_FONT = "DejaVu Sans";

export function ass(
  events: readonly string[],
  { pixels, style }: { readonly pixels: Pixels; readonly style: LetterStyle },
): string {
  const { size = CAPTION_SIZE, box = false, position = "bottom" } = style;
  const heightPx = linePx(pixels, size);
  const edgePx = box ? Math.round(heightPx * 0.2) : Math.max(1, Math.round(heightPx * 0.07));
  const place = captionBox(pixels, { size, position });
  const isTop = position === "top";
  const [beside, over] = [place.x, isTop ? place.y : pixels.height - place.y - place.height];
  const margins = [beside, beside, over + edgePx] as const;
  return assScript(
    pixels,
    [styleLine("Main", { ...style, heightPx, edgePx, isBold: true, alignment: isTop ? 8 : 2, margins })],
    events,
  );
}

interface Line extends LetterStyle {
  readonly heightPx: number;
  readonly edgePx: number;
  readonly isBold: boolean;
  /** Position as on a numeric keypad; 1 is the lower left corner. */
  readonly alignment?: number;
  /** Margins in pixels: left, right, and either top or bottom. */
  readonly margins?: readonly [number, number, number];
}

/** Value of a style's `Encoding` field that makes libass choose the text direction by the first letter. */
const BY_ITS_LETTERS = -1;

export function styleLine(name: string, line: Line): string {
  const { font = DEFAULT_FONT, color = "#ffffff", outline = "#000000", box = false, heightPx, edgePx, isBold } = line;
  const { alignment = 7, margins = [0, 0, 0] } = line;
  const isBoxed = box && edgePx > 0;
  const colors = [color, color, outline].map((value) => assColor(value)).join(",");
  const weight = isBold ? -1 : 0;
  const family = font.replace(/[,\r\n]/g, " ");
  return `Style: ${name},${family},${heightPx},${colors},${assColor(outline, isBoxed ? "40" : "80")},${weight},0,${isBoxed ? 3 : 1},${edgePx},0,${alignment},${margins.join(",")},${BY_ITS_LETTERS}`;
}

export function assScript({ width, height }: Pixels, styles: readonly string[], events: readonly string[]): string {
  return [
    "[Script Info]",
    "ScriptType: v4.00+",
    `PlayResX: ${width}`,
    `PlayResY: ${height}`,
    "WrapStyle: 0",
    "ScaledBorderAndShadow: yes",
    "[V4+ Styles]",
    "Format: Name,Fontname,Fontsize,PrimaryColour,SecondaryColour,OutlineColour,BackColour,Bold,Italic,BorderStyle,Outline,Shadow,Alignment,MarginL,MarginR,MarginV,Encoding",
    ...styles,
    "[Events]",
    "Format: Layer,Start,End,Style,MarginL,MarginR,MarginV,Effect,Text",
    ...events,
    "",
  ].join("\n");
}

export function cueEvents(cues: readonly Cue[], { highlight }: LetterStyle): readonly string[] {
  return cues.flatMap((cue) => {
    if (highlight === undefined) return [assEvent(cue, assText(cue.text))];
    return cue.words.map((word, index) => {
      const start = index === 0 ? cue.start : word.start;
      const end = cue.words[index + 1]?.start ?? cue.end;
      return assEvent({ start, end }, marked(cue, index, highlight));
    });
  });
}

function marked({ text, words }: Cue, index: number, highlight: string): string {
  const firstLine = text.split("\n")[0]!;
  let length = 0;
  return words
    .map((word, at) => {
      const space = at === 0 || word.isJoined === true ? "" : " ";
      const before = at > 0 && length === firstLine.length && text.includes("\n") ? "\\N" : space;
      length += word.text.length + space.length;
      const shown = assText(word.text);
      return before + (at === index ? `{\\c${assColor(highlight, "")}&}${shown}{\\r}` : shown);
    })
    .join("");
}

export function assEvent(
  { start, end }: { readonly start: number; readonly end: number },
  text: string,
  { layer = 0, style = "Main" } = {},
): string {
  return `Dialogue: ${layer},${assTime(start)},${assTime(end)},${style},0,0,0,,${text}`;
}

export function assText(text: string): string {
  return text
    .replaceAll("\\", "\\\u2060")
    .replaceAll("{", "\\{")
    .replaceAll("}", "\\}")
    .replaceAll(/\r\n|[\r\n\0]/g, "\\N");
}

function assTime(seconds: number): string {
  const hundredths = Math.max(0, Math.round(seconds * 100));
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${Math.floor(hundredths / 360_000)}:${two((hundredths / 6000) % 60)}:${two((hundredths / 100) % 60)}.${two(hundredths % 100)}`;
}

export function assColor(color: string, alpha = "00"): string {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color) ?? [];
  if (red === undefined) throw new FilmError("FILM_INPUT", `${JSON.stringify(color)} is not a color; use #rrggbb`);
  return `&H${alpha}${blue}${green}${red}`;
}
