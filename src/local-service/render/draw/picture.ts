import { readFile } from "node:fs/promises";
import { type Canvas, createCanvas, type Image } from "@napi-rs/canvas";
import { inputError, type MediaFile } from "../contract.ts";
import { decodeImage, probeImage } from "../probe/probe-image.ts";
import type { Size } from "../size.ts";
import type { Context } from "./brush.ts";

/** Decodes the image of input field `field`, with the same checks as an upload. */
export async function loadPicture(file: MediaFile, field: string): Promise<Image> {
  const bytes = await readFile(file.path);
  const found = await probeImage(bytes, file.contentType);
  if (!found.ok) throw inputError(field, found.reason);
  return decodeImage(bytes);
}

/** Draws the picture to cover the box, cropped evenly. */
export function drawCover(
  context: Context,
  picture: Image | Canvas,
  x: number,
  y: number,
  { width, height }: Size,
): void {
  const scale = Math.max(width / picture.width, height / picture.height);
  const [w, h] = [width / scale, height / scale];
  context.drawImage(picture, (picture.width - w) / 2, (picture.height - h) / 2, w, h, x, y, width, height);
}

/** The picture cropped to fill a frame. */
export function coverOf(picture: Image | Canvas, size: Size): Canvas {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  drawCover(context, picture, 0, 0, size);
  return canvas;
}
