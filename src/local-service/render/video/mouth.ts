import type { Canvas } from "@napi-rs/canvas";
import { type Color, rgb } from "../draw/color.ts";
import { faceGeometry } from "../draw/face-geometry.ts";

/** Where a picture's mouth is, in its own pixels, and the colours to draw it with. */
export interface Mouth {
  readonly x: number;
  readonly y: number;
  readonly halfWidth: number;
  readonly lips: Color;
  /** The eyes, where they are known, for blinking. */
  readonly eyes: { readonly y: number; readonly apart: number; readonly radius: number; readonly lid: Color } | null;
}

type Pixels = { readonly data: Uint8ClampedArray; readonly width: number; readonly height: number };
type Rgb = readonly [number, number, number];

/** Finds the mouth: first where our own faces have it, else low in the largest patch of skin; null without a face. */
export function findMouth(picture: Canvas): Mouth | null {
  const pixels = picture.getContext("2d").getImageData(0, 0, picture.width, picture.height);
  return drawnMouth(pixels) ?? photographedMouth(pixels);
}

function drawnMouth(pixels: Pixels): Mouth | null {
  const face = faceGeometry(pixels);
  const { mouth, eyes, radius: r } = face;
  const lips = at(pixels, mouth.x, mouth.y + mouth.halfWidth * 0.12);
  const nose = at(pixels, face.x - r * 0.12, face.y + r * 0.1);
  const forehead = at(pixels, face.x, face.y - r * 0.5);
  const isFlat = distance(nose, forehead) < 24;
  const white = at(pixels, face.x - eyes.apart - r * 0.135, eyes.y);
  const isEye = Math.min(...white) > 200;
  if (!isFlat || !isEye || !isRedder(lips, nose)) return null;
  return { ...mouth, lips: rgb(...lips), eyes: { ...eyes, lid: rgb(...nose) } };
}

/** Weighs skin-coloured pixels on a coarse grid; the mouth sits in the lower part of where they lie densest. */
function photographedMouth(pixels: Pixels): Mouth | null {
  const step = Math.max(2, Math.floor(Math.min(pixels.width, pixels.height) / 120));
  const spots: { x: number; y: number }[] = [];
  for (let y = 0; y < pixels.height * 0.85; y += step) {
    for (let x = 0; x < pixels.width; x += step) if (isSkin(at(pixels, x, y))) spots.push({ x, y });
  }
  const cells = (pixels.width / step) * (pixels.height / step);
  if (spots.length < cells * 0.015 || spots.length > cells * 0.6) return null;
  const xs = spots.map((spot) => spot.x).sort((a, b) => a - b);
  const x = xs[xs.length >> 1] ?? 0;
  const columns = spots
    .filter((spot) => Math.abs(spot.x - x) < pixels.width * 0.12)
    .map((spot) => spot.y)
    .sort((a, b) => a - b);
  const top = columns[Math.floor(columns.length * 0.04)] ?? 0;
  const spread = (xs[Math.floor(xs.length * 0.85)] ?? x) - (xs[Math.floor(xs.length * 0.15)] ?? x);
  const headHeight = Math.min(((columns[columns.length - 1] ?? top) - top) * 0.95, spread * 1.5);
  if (headHeight < pixels.height * 0.06) return null;
  const y = top + headHeight * 0.76;
  const [red, green, blue] = at(pixels, x, y - headHeight * 0.2);
  return { x, y, halfWidth: headHeight * 0.14, lips: rgb(red * 0.72, green * 0.45, blue * 0.45), eyes: null };
}

function at({ data, width, height }: Pixels, x: number, y: number): Rgb {
  const column = Math.max(0, Math.min(width - 1, Math.round(x)));
  const i = (Math.max(0, Math.min(height - 1, Math.round(y))) * width + column) * 4;
  return [data[i] ?? 0, data[i + 1] ?? 0, data[i + 2] ?? 0];
}

function isSkin([r, g, b]: Rgb): boolean {
  const cb = 128 - 0.169 * r - 0.331 * g + 0.5 * b;
  const cr = 128 + 0.5 * r - 0.419 * g - 0.081 * b;
  return r > 60 && cb > 77 && cb < 127 && cr > 136 && cr < 173 && r > g && g > b * 0.9;
}

const distance = (a: Rgb, b: Rgb) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
const isRedder = (a: Rgb, b: Rgb) => a[0] - a[1] > b[0] - b[1] + 8;
