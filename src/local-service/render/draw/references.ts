import { createCanvas, type Image } from "@napi-rs/canvas";
import type { Brief } from "./brief.ts";
import type { Surface } from "./brush.ts";
import { alpha } from "./color.ts";
import { drawCover } from "./picture.ts";

/** How wide the scene's own band is, next to one band for each reference. */
const SCENE_SHARE = 0.7;
/** Half the width of a dissolve between two bands, as a part of the frame. */
const SOFTNESS = 0.07;

/**
 * One picture in which every reference fills a soft-edged band of its own and the prompt's scene grows out of the last
 * one, all under the light of the prompt's palette.
 */
export function blendReferences(scene: Surface, references: readonly Image[], brief: Brief): Surface {
  const { width, height } = scene;
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  const band = width / (references.length + SCENE_SHARE);
  const soft = width * SOFTNESS;
  for (const [i, picture] of [...references, scene].entries()) {
    const left = i === 0 ? 0 : i * band - soft;
    const right = i === references.length ? width : (i + 1) * band + soft;
    const layer = createCanvas(Math.ceil(right - left), height);
    const over = layer.getContext("2d");
    over.imageSmoothingQuality = "high";
    drawCover(over, picture, 0, 0, layer);
    if (i > 0) {
      const mask = over.createLinearGradient(0, 0, 2 * soft, 0);
      mask.addColorStop(0, "rgba(0, 0, 0, 0)");
      mask.addColorStop(1, "rgba(0, 0, 0, 1)");
      over.globalCompositeOperation = "destination-in";
      over.fillStyle = mask;
      over.fillRect(0, 0, layer.width, height);
    }
    context.drawImage(layer, left, 0);
  }
  context.globalCompositeOperation = "soft-light";
  const light = context.createLinearGradient(0, 0, width, height);
  light.addColorStop(0, alpha(brief.palette.light, 0.25));
  light.addColorStop(1, alpha(brief.tint, 0.35));
  context.fillStyle = light;
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = "source-over";
  return canvas;
}
