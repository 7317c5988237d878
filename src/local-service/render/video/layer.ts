import { type Canvas, createCanvas } from "@napi-rs/canvas";
import type { Context } from "../draw/brush.ts";
import type { Size } from "../size.ts";
import { OVERSCAN, type View } from "./camera.ts";

/** A picture with a mirrored margin, so that a moving camera never meets an edge. */
export interface Layer {
  readonly canvas: Canvas;
  readonly size: Size;
}

/** Lays the picture in the middle and its mirror images around it. */
export function layerOf(picture: Canvas, mirrored = true): Layer {
  const { width, height } = picture;
  const [mx, my] = [Math.round(width * OVERSCAN), Math.round(height * OVERSCAN)];
  const canvas = createCanvas(width + 2 * mx, height + 2 * my);
  const context = canvas.getContext("2d");
  for (const column of mirrored ? [-1, 1, 0] : [0]) {
    for (const row of mirrored ? [-1, 1, 0] : [0]) {
      context.setTransform(
        column === 0 ? 1 : -1,
        0,
        0,
        row === 0 ? 1 : -1,
        mx + flipped(column, width),
        my + flipped(row, height),
      );
      context.drawImage(picture, 0, 0);
    }
  }
  return { canvas, size: { width, height } };
}

const flipped = (cell: number, side: number) => (cell === 0 ? 0 : cell < 0 ? 0 : 2 * side);

/** Draws the layer as the camera sees it; `depth` below 1 moves less, as what lies far away does. */
export function drawLayer(context: Context, { canvas, size }: Layer, view: View, depth = 1): void {
  const scale = 1 + (view.scale - 1) * depth;
  const [mx, my] = [(canvas.width - size.width) / 2, (canvas.height - size.height) / 2];
  const x = size.width * (0.5 - clamp(view.x * depth, scale) * scale);
  const y = size.height * (0.5 - clamp(view.y * depth, scale) * scale);
  context.setTransform(scale, 0, 0, scale, x - (size.width / 2 + mx) * scale, y - (size.height / 2 + my) * scale);
  context.drawImage(canvas, 0, 0);
  context.resetTransform();
}

/** Keeps the view inside the margin at the given scale. */
function clamp(offset: number, scale: number): number {
  const room = Math.max(0, 0.5 + OVERSCAN - 0.5 / scale);
  return Math.max(-room, Math.min(room, offset));
}
