import { FilmError } from "../ffmpeg/film-error.ts";

/** Shapes of a film. */
export type Format = "16:9" | "9:16" | "1:1" | "4:5";
/** Lines of the shorter side, or width and height in pixels: `"1080p"`, `"1280x720"`. */
export type Size = "480p" | "720p" | "1080p" | "2160p" | `${number}x${number}`;

export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** Encoders take whole pairs of pixels. */
export function even(length: number): number {
  return Math.max(2, 2 * Math.round(length / 2));
}

/** Of a side. */
export const MOST_PIXELS = 8192;

/** Size of a picture: as it was asked for, else that of the first clip. */
export function pixelsOf(size: Size | undefined, format: Format | undefined, first: Pixels): Pixels {
  const exact = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? "");
  if (exact !== null) return checked({ width: even(Number(exact[1])), height: even(Number(exact[2])) });
  if (size === undefined && format === undefined) return { width: even(first.width), height: even(first.height) };
  const short = size === undefined ? Math.min(first.width, first.height) : Number(size.replace("p", ""));
  const [wide = 16, high = 9] = (format ?? "16:9").split(":").map(Number);
  return checked(
    wide >= high
      ? { width: even((short * wide) / high), height: even(short) }
      : { width: even(short), height: even((short * high) / wide) },
  );
}

function checked(pixels: Pixels): Pixels {
  const isFine = [pixels.width, pixels.height].every((one) => Number.isFinite(one) && one >= 16 && one <= MOST_PIXELS);
  if (isFine) return pixels;
  throw new FilmError(
    "FILM_INPUT",
    `${pixels.width}x${pixels.height} is no size: give 16 to ${MOST_PIXELS} pixels a side`,
  );
}

/** The ratio as it stands in the name of a file. */
export function formatName(format: Format): string {
  return format.replace(":", "x");
}
