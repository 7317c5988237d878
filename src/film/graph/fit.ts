import { type ShownAs, shownFilter } from "../ffmpeg/shown.ts";
import { even, type Pixels, pixelsOf, scaleFilter } from "./size.ts";

/**
 * How images or clips of another shape fill the frame: `crop` cuts off the excess, `pad` adds bars, and `blur` fills
 * the bars with a blurred copy of the image.
 */
export type Fit = "crop" | "pad" | "blur";

/** Smaller differences in aspect ratio are invisible. */
const ALIKE = 0.01;

/** `label` prefixes the names of intermediate streams, and must be unique in the graph. */
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
