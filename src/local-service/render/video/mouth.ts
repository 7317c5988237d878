import type { Canvas } from "@napi-rs/canvas";
import { type Color, rgb } from "../draw/color.ts";
import { faceGeometry } from "../draw/face-geometry.ts";
import { headPatch, type Pixels, pixelAt, type Rgb } from "./skin.ts";

/** Where a picture's mouth is, in its own pixels, and the colours to draw it with. */
export interface Mouth {
  readonly x: number;
  readonly y: number;
  readonly halfWidth: number;
  readonly lips: Color;
  /** What is known only of our own drawn faces: the flat colour of the skin, and the eyes, for blinking. */
  readonly drawn: {
    readonly skin: Color;
    readonly eyeY: number;
    readonly eyeApart: number;
    readonly eyeRadius: number;
  } | null;
}

/** Finds the mouth: where our own faces have it, else low in a patch of skin that looks like a head; null without one. */
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
