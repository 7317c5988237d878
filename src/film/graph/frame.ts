import { FilmError } from "../ffmpeg/film-error.ts";
import { MOST_PIXELS as MOST_DRAWN } from "../ffmpeg/input-args.ts";
import { type ShownAs, shownFilter } from "../ffmpeg/shown.ts";

/** Aspect ratio of a film. */
export type Format = "16:9" | "9:16" | "1:1" | "4:5";
/** Length of the shorter side in pixels, such as `"1080p"`; or width and height, such as `"1280x720"`. */
export type Size = "480p" | "720p" | "1080p" | "2160p" | `${number}x${number}`;

/** A size in pixels. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** Rounds a length to an even number, because encoders need even sizes. */
export function even(length: number): number {
  return Math.max(LEAST, 2 * Math.round(length / 2));
}

const LEAST = 2;

export const MOST_PIXELS = 8192;
/**
 * Maximum frame size of a film, in pixels: slightly more than 8K. It is limited because encoders keep dozens of frames
 * in memory.
 */
const MOST_FILM_PIXELS = 36_000_000;

export function sizeFault({ width, height }: Pixels): string | null {
  const isFine = Math.max(width, height) <= MOST_PIXELS && width * height <= MOST_FILM_PIXELS;
  if (isFine) return null;
  return `${width}x${height} pixels; the maximum is ${MOST_PIXELS} per side and ${MOST_FILM_PIXELS / 1e6} million in total`;
}

export function pixelsOf(first: Pixels, size?: Size, format?: Format): Pixels {
  const exact = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? "");
  if (exact !== null) return checked({ width: even(Number(exact[1])), height: even(Number(exact[2])) });
  if (size === undefined && format === undefined)
    return checked({ width: even(first.width), height: even(first.height) }, LEAST);
  const short = size === undefined ? Math.min(first.width, first.height) : Number(size.replace("p", ""));
  const [wide = 16, high = 9] = (format ?? "16:9").split(":").map(Number);
  return checked(
    wide >= high
      ? { width: even((short * wide) / high), height: even(short) }
      : { width: even(short), height: even((short * high) / wide) },
  );
}

function checked(pixels: Pixels, least = 16): Pixels {
  const isFine = [pixels.width, pixels.height].every((side) => Number.isFinite(side) && side >= least);
  if (isFine && sizeFault(pixels) === null) return pixels;
  throw new FilmError(
    "FILM_INPUT",
    `${pixels.width}x${pixels.height} is not a valid size; use 16 to ${MOST_PIXELS} pixels per side, at most ${MOST_FILM_PIXELS / 1e6} million in all`,
  );
}

export function scaleFilter({ width, height }: Pixels): string {
  if (width * height <= MOST_DRAWN) return `scale=${width}:${height}`;
  const why = "the aspect ratio of an image is too extreme for the area it fills";
  throw new FilmError("FILM_INPUT", `${why}, so the image would be scaled to ${width}x${height}; crop the image first`);
}

export function formatName(format: Format): string {
  return format.replace(":", "x");
}

/** A frame rate. `text` is the exact rate for ffmpeg, such as `30000/1001` for 29.97. */
export interface Rate {
  readonly text: string;
  readonly fps: number;
}

const [LEAST_FPS, MOST_FPS, USUAL_FPS] = [10, 60, 30];

export function rateOf(fps: number): Rate {
  if (!(fps > 0)) return { text: String(USUAL_FPS), fps: USUAL_FPS };
  const inside = Math.min(MOST_FPS, Math.max(LEAST_FPS, fps));
  const whole = Math.round(inside);
  const slow = (whole * 1000) / 1001;
  if (Math.abs(inside - slow) < Math.abs(inside - whole) && Math.abs(inside - slow) < 0.01)
    return { text: `${whole * 1000}/1001`, fps: slow };
  return { text: String(whole), fps: whole };
}

/** Fraction of a frame by which cross-fades start early, so that rounding cannot skip their first frame. */
export const EARLY = 0.25;

/**
 * Returns the frame at which each clip ends. Counts from the start of the film, so that rounding errors do not add up.
 */
export function frameEnds(seconds: readonly number[], { fps }: Rate): readonly number[] {
  let at = 0;
  return seconds.map((length) => {
    at += length;
    return Math.round(at * fps);
  });
}

export function steps(ends: readonly number[]): readonly number[] {
  return ends.map((end, index) => end - (ends[index - 1] ?? 0));
}

/**
 * How images or clips with a different aspect ratio fill the frame: `crop` cuts off the excess, `pad` adds bars, and
 * `blur` fills the bars with a blurred copy of the image.
 */
export type Fit = "crop" | "pad" | "blur";

/** Differences in aspect ratio below this value are invisible. */
const ALIKE = 0.01;

/**
 * Returns filters that fit an image or clip into a frame. `label` prefixes the names of intermediate streams, and must
 * be unique in the graph.
 */
export function fitFilter(
  from: Pixels & ShownAs,
  to: Pixels,
  { fit, label }: { readonly fit: Fit; readonly label: string },
): string {
  const frame = `${to.width}:${to.height}`;
  const [is, shall] = [from.width / from.height, to.width / to.height];
  const most = Math.max(to.width / from.width, to.height / from.height);
  const around = scaled(from, most, null);
  const shown = shownFilter(from, most < 1 ? scaleFilter(around) : undefined);
  if (Math.abs(is / shall - 1) < ALIKE) return `${shown},scale=${frame},setsar=1`;
  const inside = scaled(from, Math.min(to.width / from.width, to.height / from.height), to);
  if (fit === "crop") return `${shown},${scaleFilter(around)},crop=${frame},setsar=1`;
  const small = `${scaleFilter(inside)},setsar=1`;
  if (fit === "pad") return `${shown},${small},pad=${frame}:(ow-iw)/2:(oh-ih)/2`;
  // Blurring at an eighth of the size looks the same and is much faster.
  const [wide, high] = [even(to.width / 8), even(to.height / 8)];
  const back = scaled(from, Math.max(wide / from.width, high / from.height), null);
  const blurred = `${scaleFilter(back)},crop=${wide}:${high},gblur=sigma=5,lutyuv=y=val*0.85,scale=${frame},setsar=1`;
  const [a, b, c, d] = ["a", "b", "c", "d"].map((part) => `[${label}${part}]`);
  return `${shown},split${a}${b};${a}${blurred}${c};${b}${small}${d};${c}${d}overlay=(W-w)/2:(H-h)/2`;
}

export function wholeFilter(from: Pixels & ShownAs, label: string): string {
  return fitFilter(from, pixelsOf(from), { fit: "pad", label });
}

function scaled(from: Pixels, factor: number, most: Pixels | null): Pixels {
  const [width, height] = [even(from.width * factor), even(from.height * factor)];
  if (most === null) return { width: Math.max(width, even(from.width * factor)), height };
  return { width: Math.min(width, most.width), height: Math.min(height, most.height) };
}
