import { FilmError } from "../ffmpeg/film-error.ts";
import type { Pixels } from "../graph/frame.ts";
import {
  type Box,
  type LowerThirdPlace,
  lettersBeside,
  linePx,
  lowerThirdBox,
  MOST_TITLE_LINES,
  paddingOf,
  SUBTITLE_PART,
  TITLE_SIZE,
} from "../graph/layout.ts";
import { assColor, assEvent, assScript, assText, type LetterStyle, styleLine } from "./ass.ts";
import { piecesOf, widthOf } from "./breaks.ts";

export interface LowerThirdText {
  readonly title: string;
  readonly subtitle?: string | undefined;
  readonly at: number;
  readonly seconds: number;
  readonly style: LetterStyle;
  readonly captionSize?: number | undefined;
}

const SMALLEST = 0.6;

/**
 * Returns the box, line height and title lines of a lower third. Shrinks the text until it fits.
 * @throws FilmError if the text does not fit even at the smallest size
 */
export function placeLowerThird(pixels: Pixels, { title, subtitle, style, captionSize }: LowerThirdText) {
  const asked = style.size ?? TITLE_SIZE;
  for (let size = asked; size >= asked * SMALLEST - 1e-9; size -= asked * 0.1) {
    const line = linePx(pixels, size);
    const inner = lowerThirdBox(pixels, { size }).width * 0.9 - 3 * paddingOf(line);
    const lines = broken(title, lettersBeside(inner, line));
    const isOneLine = widthOf(subtitle ?? "") <= lettersBeside(inner, line * SUBTITLE_PART);
    if (lines.length > MOST_TITLE_LINES || !isOneLine) continue;
    const place: LowerThirdPlace = { size, titleLines: lines.length, hasSubtitle: subtitle !== undefined, captionSize };
    return { box: lowerThirdBox(pixels, place), line, lines };
  }
  throw new FilmError(
    "FILM_INPUT",
    `the title (${title.length} characters) and the subtitle (${subtitle?.length ?? 0}) do not fit in the lower third; shorten them`,
  );
}

/**
 * Breaks text into lines. If a word is wider than a line, adds empty lines, so that the result has too many lines and
 * the caller tries a smaller size.
 */
function broken(text: string, letters: number): readonly string[] {
  const lines: string[] = [];
  for (const { text: word, isJoined } of piecesOf(text)) {
    const longer = `${lines.at(-1) ?? ""}${isJoined ? "" : " "}${word}`;
    if (lines.length > 0 && widthOf(longer) <= letters) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.some((line) => widthOf(line) > letters) ? [...lines, "", ""] : lines;
}

/** Fraction of the plate's width that is fully opaque. */
const FULL = 0.45;
const STRIPS = 48;
const OPACITY = 0.72;

export function lowerThirdScript(pixels: Pixels, text: LowerThirdText): string {
  const { subtitle, at, seconds, style } = text;
  const { box, line, lines } = placeLowerThird(pixels, text);
  const { color = "#ffffff", outline = "#000000", highlight = color, box: hasPlate = true } = style;
  const padding = paddingOf(line);
  const bar = Math.max(2, Math.round(line * 0.12));
  const span = { start: at, end: at + seconds };
  const fade = "\\fad(200,200)";
  const edge = hasPlate ? 0 : Math.max(1, Math.round(line * 0.07));
  const letters = (style: string, y: number, shown: string) =>
    assEvent(span, `{\\an7\\pos(${box.x + bar + padding},${y})\\q2${fade}}${shown}`, { layer: 1, style });
  const under = box.y + padding + lines.length * line;
  const plate = hasPlate ? strips(box).map((strip) => drawn(strip, { span, fade, color: outline })) : [];
  return assScript(
    pixels,
    [
      styleLine("Title", { ...style, heightPx: line, edgePx: edge, isBold: true }),
      styleLine("Subtitle", { ...style, heightPx: Math.round(line * SUBTITLE_PART), edgePx: edge, isBold: false }),
    ],
    [
      ...plate,
      drawn({ ...box, width: bar, opacity: 1 }, { span, fade, color: highlight }),
      letters("Title", box.y + padding, lines.map(assText).join("\\N")),
      ...(subtitle === undefined ? [] : [letters("Subtitle", under, assText(subtitle))]),
    ],
  );
}

interface Strip extends Box {
  readonly opacity: number;
}

function strips(box: Box): readonly Strip[] {
  const full = Math.round(box.width * FULL);
  const step = (box.width - full) / STRIPS;
  const fading = Array.from({ length: STRIPS }, (_, index) => {
    const [from, to] = [index, index + 1].map((at) => Math.round(box.x + full + at * step)) as [number, number];
    return { ...box, x: from, width: to - from, opacity: OPACITY * (1 - (index + 1) / (STRIPS + 1)) };
  });
  return [{ ...box, width: full, opacity: OPACITY }, ...fading];
}

function drawn(
  { x, y, width, height, opacity }: Strip,
  { span, fade, color }: { span: { start: number; end: number }; fade: string; color: string },
): string {
  const alpha = Math.round((1 - opacity) * 255)
    .toString(16)
    .padStart(2, "0");
  const shape = `m 0 0 l ${width} 0 ${width} ${height} 0 ${height}`;
  const look = `\\bord0\\shad0\\1c${assColor(color, "")}&\\1a&H${alpha}&`;
  return assEvent(span, `{\\an7\\pos(${x},${y})${fade}${look}\\p1}${shape}{\\p0}`, { layer: 0, style: "Title" });
}
