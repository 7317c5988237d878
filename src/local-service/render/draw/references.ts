import { createCanvas } from "@napi-rs/canvas";
import type { Brief } from "./brief.ts";
import type { Surface } from "./brush.ts";
import { alpha } from "./color.ts";

/** How wide the scene's own band is, next to one band for each reference. */
const SCENE_SHARE = 0.62;
const SOFTNESS = 0.16;

/**
 * One picture in which every reference stands in a soft-edged band of its own and the prompt's scene grows out of the
 * last one, all under the light of the prompt's palette.
 */
export function blendReferences(scene: Surface, references: readonly Surface[], brief: Brief): Surface {
  const { width, height } = scene;
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  const band = width / (references.length + SCENE_SHARE);
  for (const [i, picture] of [...references, scene].entries()) {
    const start = i * band;
    const layer = createCanvas(width, height);
    const over = layer.getContext("2d");
    const span = i === references.length ? band * SCENE_SHARE : band;
    over.drawImage(picture, i === references.length ? 0 : start + span / 2 - width / 2, 0);
    if (i > 0) {
      const mask = over.createLinearGradient(start - width * SOFTNESS, 0, start + width * SOFTNESS, 0);
      mask.addColorStop(0, "rgba(0, 0, 0, 0)");
      mask.addColorStop(1, "rgba(0, 0, 0, 1)");
      over.globalCompositeOperation = "destination-in";
      over.fillStyle = mask;
      over.fillRect(0, 0, width, height);
    }
    context.drawImage(layer, 0, 0);
  }
  context.globalCompositeOperation = "soft-light";
  const light = context.createLinearGradient(0, 0, width, height);
  light.addColorStop(0, alpha(brief.palette.light, 0.35));
  light.addColorStop(1, alpha(brief.tint, 0.4));
  context.fillStyle = light;
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = "source-over";
  return canvas;
}
