import type { Pixels } from "./frame.ts";

export interface Box extends Pixels {
  readonly x: number;
  readonly y: number;
}

export type Position = "top" | "middle" | "bottom";
export type Corner = "top-left" | "top-right" | "bottom-left" | "bottom-right";

/** Text heights of captions and titles, as fractions of the frame's shorter side. */
export const CAPTION_SIZE = 0.05;
export const TITLE_SIZE = 0.042;
export const SUBTITLE_PART = 0.7;
export const MOST_TITLE_LINES = 2;
const LOGO = { width: 0.25, height: 0.18 };

/** Returns a line's height. It exceeds the text size, because fonts add space above and below the letters. */
export function linePx(pixels: Pixels, size: number): number {
  return Math.round(Math.min(pixels.width, pixels.height) * size * 1.35);
}

/** Average width of wide letters, as a fraction of the line height. */
const LETTER = 0.567;

export function lettersBeside(widthPx: number, lineHeightPx: number): number {
  return Math.floor(widthPx / (lineHeightPx * LETTER));
}

/**
 * Returns the area that is safe for text. It leaves more space at the top and bottom of portrait films, because apps
 * cover those parts with buttons.
 */
export function safeArea({ width, height }: Pixels): Box {
  const isTall = height > width;
  const [x, top, bottom] = [width * 0.06, height * (isTall ? 0.08 : 0.05), height * (isTall ? 0.16 : 0.07)].map(
    Math.round,
  ) as [number, number, number];
  return { x, y: top, width: width - 2 * x, height: height - top - bottom };
}

/**
 * Returns the area for captions. It leaves room for a lower third and a logo, so that separate steps never draw over
 * each other.
 */
export function captionBox(pixels: Pixels, { size = CAPTION_SIZE, position = "bottom" }: CaptionPlace = {}): Box {
  const safe = safeArea(pixels);
  const height = Math.round(2.2 * linePx(pixels, size));
  const y = () => {
    switch (position) {
      case "bottom":
        return safe.y + safe.height - height;
      case "top":
        return safe.y + Math.round(shortOf(pixels) * LOGO.height) + gapOf(pixels);
      case "middle":
        return Math.min(
          (pixels.height - height) / 2,
          lowerThirdBox(pixels, { captionSize: size }).y - gapOf(pixels) - height,
        );
      default:
        return position satisfies never;
    }
  };
  return { ...safe, y: Math.max(safe.y, Math.round(y())), height };
}

export interface CaptionPlace {
  readonly size?: number | undefined;
  readonly position?: Position | undefined;
}

export interface LowerThirdPlace {
  readonly size?: number | undefined;
  readonly titleLines?: number | undefined;
  readonly hasSubtitle?: boolean | undefined;
  readonly captionSize?: number | undefined;
}

export function lowerThirdBox(pixels: Pixels, place: LowerThirdPlace): Box {
  const { size = TITLE_SIZE, titleLines = MOST_TITLE_LINES, hasSubtitle = true, captionSize } = place;
  const line = linePx(pixels, size);
  const letters = titleLines * line + (hasSubtitle ? Math.round(line * SUBTITLE_PART) : 0);
  const height = letters + 2 * paddingOf(line);
  const safe = safeArea(pixels);
  return { ...safe, y: captionBox(pixels, { size: captionSize }).y - gapOf(pixels) - height, height };
}

export function paddingOf(lineHeightPx: number): number {
  return Math.round(lineHeightPx / 3);
}

export interface LogoPlace {
  readonly corner?: Corner | undefined;
  readonly width?: number | undefined;
  readonly picture: Pixels;
  readonly lowerThird?: Box | undefined;
}

export function logoBox(pixels: Pixels, { corner = "top-right", width, picture, lowerThird }: LogoPlace): Box {
  const short = shortOf(pixels);
  const safe = safeArea(pixels);
  const most = { width: width === undefined ? short * LOGO.width : width * pixels.width, height: short * LOGO.height };
  const byHeight = width === undefined ? most.height / picture.height : Number.POSITIVE_INFINITY;
  const scale = Math.min(most.width / picture.width, byHeight, safe.width / picture.width);
  const [wide, high] = [picture.width * scale, picture.height * scale].map((side) => Math.max(8, Math.round(side))) as [
    number,
    number,
  ];
  const floor = (lowerThird ?? captionBox(pixels)).y - gapOf(pixels);
  return {
    x: corner.endsWith("left") ? safe.x : safe.x + safe.width - wide,
    y: corner.startsWith("top") ? safe.y : floor - high,
    width: wide,
    height: high,
  };
}

function shortOf({ width, height }: Pixels): number {
  return Math.min(width, height);
}

function gapOf(pixels: Pixels): number {
  return Math.round(shortOf(pixels) * 0.02);
}
