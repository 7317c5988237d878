import { createCanvas, type Image } from "@napi-rs/canvas";
import type { Surface } from "./brush.ts";

const MAX_SIDE = 8192;

/** The picture itself, `scale` times as large; the longer side at most 8192 pixels. */
export function enlargePicture(picture: Image, scale: number): Surface {
  const factor = Math.min(scale, MAX_SIDE / Math.max(picture.width, picture.height));
  const canvas = createCanvas(Math.round(picture.width * factor), Math.round(picture.height * factor));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}
