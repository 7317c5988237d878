import type { Canvas } from "@napi-rs/canvas";
import { type Color, rgb } from "../draw/brush.ts";
import { faceGeometry } from "../draw/face.ts";

/** Pixels of a picture in RGBA. */
export interface Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export type Rgb = readonly [red: number, green: number, blue: number];

/** A patch of skin-coloured pixels: its box in pixels, and how much of the box it fills. */
export interface Patch {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly fill: number;
}

const CELLS = 110;

export function pixelAt({ data, width, height }: Pixels, x: number, y: number): Rgb {
  const column = Math.max(0, Math.min(width - 1, Math.round(x)));
  const row = Math.max(0, Math.min(height - 1, Math.round(y)));
  const i = (row * width + column) * 4;
  return [data[i] ?? 0, data[i + 1] ?? 0, data[i + 2] ?? 0];
}

/** The largest connected patch of skin that could be a head: compact, upright, not spanning the whole picture. */
export function headPatch(pixels: Pixels): Patch | null {
  const step = Math.max(1, Math.min(pixels.width, pixels.height) / CELLS);
  const columns = Math.floor(pixels.width / step);
  const rows = Math.floor(pixels.height / step);
  const open = new Uint8Array(columns * rows);
  for (let i = 0; i < open.length; i++) {
    open[i] = isSkin(pixelAt(pixels, (i % columns) * step, Math.floor(i / columns) * step)) ? 1 : 0;
  }
  let best: Patch | null = null;
  for (let i = 0; i < open.length; i++) {
    if (open[i] !== 1) continue;
    const patch = flood(open, columns, rows, i, step);
    if (isHead(patch, pixels) && (best === null || patch.width * patch.height > best.width * best.height)) best = patch;
  }
  return best;
}

function flood(open: Uint8Array, columns: number, rows: number, from: number, step: number): Patch {
  const stack = [from];
  let [left, right, top, bottom, count] = [columns, 0, rows, 0, 0];
  open[from] = 0;
  for (let cell = stack.pop(); cell !== undefined; cell = stack.pop()) {
    const [x, y] = [cell % columns, Math.floor(cell / columns)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
    count++;
    for (const [nx, ny] of [
      [x - 1, y],
      [x + 1, y],
      [x, y - 1],
      [x, y + 1],
    ] as const) {
      const next = ny * columns + nx;
      if (nx < 0 || ny < 0 || nx >= columns || ny >= rows || open[next] !== 1) continue;
      open[next] = 0;
      stack.push(next);
    }
  }
  const [width, height] = [right - left + 1, bottom - top + 1];
  return {
    left: left * step,
    top: top * step,
    width: width * step,
    height: height * step,
    fill: count / (width * height),
  };
}

function isHead({ width, height, fill }: Patch, pixels: Pixels): boolean {
  const share = (width * height) / (pixels.width * pixels.height);
  const upright = height / width;
  return share > 0.012 && width < pixels.width * 0.75 && upright > 0.85 && upright < 2.8 && fill > 0.45 && fill < 0.93;
}

function isSkin([r, g, b]: Rgb): boolean {
  const cb = 128 - 0.169 * r - 0.331 * g + 0.5 * b;
  const cr = 128 + 0.5 * r - 0.419 * g - 0.081 * b;
  return r > 60 && cb > 77 && cb < 127 && cr > 136 && cr < 173 && r > g && g > b * 0.9;
}

/** Position of a picture's mouth, in its own pixels, and the colours to draw it with. */
export interface Mouth {
  readonly x: number;
  readonly y: number;
  readonly halfWidth: number;
  readonly lips: Color;
  /** Known only for our own drawn faces: the flat colour of the skin, and the eyes, for blinking. */
  readonly drawn: {
    readonly skin: Color;
    readonly eyeY: number;
    readonly eyeApart: number;
    readonly eyeRadius: number;
  } | null;
}

/**
 * Finds the mouth: at its fixed position in our own faces, else low in a patch of skin that looks like a head; null
 * without one.
 */
export function findMouth(picture: Canvas): Mouth | null {
  const pixels = picture.getContext("2d").getImageData(0, 0, picture.width, picture.height);
  return drawnMouth(pixels) ?? seenMouth(pixels);
}

function drawnMouth(pixels: Pixels): Mouth | null {
  const { x, y, radius: r, mouth, eyes } = faceGeometry(pixels);
  const lips = pixelAt(pixels, mouth.x, mouth.y + mouth.halfWidth * 0.3);
  const skin = pixelAt(pixels, x - r * 0.12, y + r * 0.1);
  const forehead = pixelAt(pixels, x, y - r * 0.5);
  const white = pixelAt(pixels, x - eyes.apart - r * 0.135, eyes.y);
  const isOurs = distance(skin, forehead) < 24 && Math.min(...white) > 195 && redness(lips) > redness(skin) + 8;
  if (!isOurs) return null;
  const drawn = { skin: rgb(...skin), eyeY: eyes.y, eyeApart: eyes.apart, eyeRadius: eyes.radius };
  return { ...mouth, lips: rgb(...lips), drawn };
}

/** A patch of skin reaches from forehead to neck; its mouth lies at about three quarters of a head's height. */
function seenMouth(pixels: Pixels): Mouth | null {
  const patch = headPatch(pixels);
  if (patch === null) return null;
  const height = Math.min(patch.height, patch.width * 1.45);
  const x = patch.left + patch.width / 2;
  const guess = patch.top + height * 0.74;
  const y = reddestRow(pixels, x, guess, height);
  const [red, green, blue] = pixelAt(pixels, x, y - height * 0.16);
  return { x, y, halfWidth: patch.width * 0.17, lips: rgb(red * 0.78, green * 0.5, blue * 0.5), drawn: null };
}

/** Lips are redder than the skin around them: the best row near the guess. */
function reddestRow(pixels: Pixels, x: number, guess: number, height: number): number {
  let best = guess;
  let most = Number.NEGATIVE_INFINITY;
  for (let y = guess - height * 0.1; y <= guess + height * 0.1; y += Math.max(1, height * 0.01)) {
    let sum = 0;
    for (let i = -4; i <= 4; i++) sum += redness(pixelAt(pixels, x + (i * height) / 60, y));
    const score = sum / 9 - (Math.abs(y - guess) / height) * 60;
    if (score > most) [best, most] = [y, score];
  }
  return best;
}

const distance = (a: Rgb, b: Rgb) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
const redness = ([red, green, blue]: Rgb) => red - (green + blue) / 2;
