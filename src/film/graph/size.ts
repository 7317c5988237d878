import { FilmError } from "../ffmpeg/film-error.ts";
import { MOST_PIXELS as MOST_DRAWN } from "../ffmpeg/input-args.ts";

/** Aspect ratio of a film. */
export type Format = "16:9" | "9:16" | "1:1" | "4:5";
/** Length of the shorter side in pixels, such as `"1080p"`; or width and height, such as `"1280x720"`. */
export type Size = "480p" | "720p" | "1080p" | "2160p" | `${number}x${number}`;

/** A size in pixels. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** Encoders need even sizes. */
export function even(length: number): number {
  return Math.max(LEAST, 2 * Math.round(length / 2));
}

const LEAST = 2;

export const MOST_PIXELS = 8192;
/** Slightly more than 8K, because encoders keep dozens of frames in memory. */
const MOST_FILM_PIXELS = 36_000_000;

export function sizeFault({ width, height }: Pixels): string | null {
  const isFine = Math.max(width, height) <= MOST_PIXELS && width * height <= MOST_FILM_PIXELS;
  if (isFine) return null;
  return `${width}x${height} pixels, more than ${MOST_PIXELS} per side or ${MOST_FILM_PIXELS / 1e6} million in all`;
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
  const why = "a picture is far too elongated for the area it fills";
  throw new FilmError("FILM_INPUT", `${why} and would be scaled to ${width}x${height}; crop it first`);
}

export function formatName(format: Format): string {
  return format.replace(":", "x");
}
