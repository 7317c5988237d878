import { type Canvas, createCanvas } from "@napi-rs/canvas";
import type { Context } from "../draw/brush.ts";
import type { Size } from "../size.ts";
import { OVERSCAN, type View } from "./camera.ts";

/** Something drawn that a camera moves over. `left` and `top` say where the canvas lies on a frame of `size`. */
export interface Layer {
  readonly canvas: Canvas;
  readonly left: number;
  readonly top: number;
  readonly size: Size;
}

/** The picture with its mirror images around it, so that a moving camera never meets an edge. */
export function mirroredLayer(picture: Canvas): Layer {
  const { width, height } = picture;
  const { mx, my, canvas, context } = roomyCanvas({ width, height });
  for (const column of [-1, 1, 0]) {
    for (const row of [-1, 1, 0]) {
      const [flipX, flipY] = [column === 0 ? 1 : -1, row === 0 ? 1 : -1];
      context.setTransform(flipX, 0, 0, flipY, mx + (column > 0 ? 2 * width : 0), my + (row > 0 ? 2 * height : 0));
      context.drawImage(picture, 0, 0);
    }
  }
  return { canvas, left: -mx, top: -my, size: { width, height } };
}

/** What `draw` paints on a frame and somewhat beyond its edges, without the empty space around it; null for nothing. */
export function croppedLayer(size: Size, draw: (context: Context) => void): Layer | null {
  const { mx, my, canvas, context } = roomyCanvas(size);
  context.translate(mx, my);
  draw(context);
  const box = paintedBox(canvas.data(), canvas.width, canvas.height);
  if (box === null) return null;
  const cut = createCanvas(box.width, box.height);
  cut.getContext("2d").drawImage(canvas, -box.left, -box.top);
  return { canvas: cut, left: box.left - mx, top: box.top - my, size };
}

/** Draws the layer as the camera sees it; `depth` below 1 moves less, as what lies far away does. */
export function drawLayer(context: Context, { canvas, left, top, size }: Layer, view: View, depth = 1): void {
  const scale = 1 + (view.scale - 1) * depth;
  const x = size.width * (0.5 - (0.5 + clamp(view.x * depth, scale)) * scale);
  const y = size.height * (0.5 - (0.5 + clamp(view.y * depth, scale)) * scale);
  context.setTransform(scale, 0, 0, scale, x, y);
  context.drawImage(canvas, left, top);
  context.resetTransform();
}

/** Keeps the view inside the margin at the given scale. */
function clamp(offset: number, scale: number): number {
  const room = Math.max(0, 0.5 + OVERSCAN - 0.5 / scale);
  return Math.max(-room, Math.min(room, offset));
}

function roomyCanvas({ width, height }: Size) {
  const [mx, my] = [Math.round(width * OVERSCAN), Math.round(height * OVERSCAN)];
  const canvas = createCanvas(width + 2 * mx, height + 2 * my);
  return { mx, my, canvas, context: canvas.getContext("2d") };
}

function paintedBox(rgba: Uint8Array, width: number, height: number) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (rgba[(y * width + x) * 4 + 3] === 0) continue;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      bottom = y;
    }
  }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
}
