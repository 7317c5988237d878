import { createCanvas } from "@napi-rs/canvas";
import { type Context, darker, oval, type Surface } from "../draw/brush.ts";
import type { Size } from "../size.ts";
import { drawLayer, mirroredLayer } from "./layer.ts";
import type { Mouth } from "./mouth.ts";

/** Draws one frame: `seconds` into the video, at a loudness from 0 to 1. */
export type Talker = (context: Context, seconds: number, loudness: number) => void;

/**
 * Animates speech: the mouth opens with the loudness, the head sways a little, and nods at the end when the prompt says
 * so; without a face, a level meter moves.
 */
export function createTalker(picture: Surface, mouth: Mouth | null, prompt: string, durationSeconds: number): Talker {
  const stage = createCanvas(picture.width, picture.height);
  const over = stage.getContext("2d");
  const size = { width: picture.width, height: picture.height };
  const base = mirroredLayer(picture);
  const nods = /\bnods?\b/i.test(prompt) && durationSeconds > 2;
  return (context, seconds, loudness) => {
    const view = {
      scale: 1 + 0.012 * (1 - Math.cos(seconds * 0.7)) + 0.004 * loudness,
      x: 0.004 * Math.sin(seconds * 1.1),
      y: 0.003 * Math.sin(seconds * 1.7) - (nods ? nod(seconds - durationSeconds + 1.3) : 0),
    };
    drawLayer(context, base, view);
    over.clearRect(0, 0, size.width, size.height);
    if (mouth === null) drawLevel(over, size, loudness, seconds);
    else {
      if (loudness > 0.04) drawOpenMouth(over, mouth, loudness);
      if (mouth.drawn !== null && isBlinking(seconds)) drawLids(over, mouth, mouth.drawn);
    }
    // The same camera view as the face, so that the mouth stays on it.
    const [cx, cy] = [size.width / 2, size.height / 2];
    context.setTransform(
      view.scale,
      0,
      0,
      view.scale,
      cx - (cx + view.x * size.width) * view.scale,
      cy - (cy + view.y * size.height) * view.scale,
    );
    context.drawImage(stage, 0, 0);
    context.resetTransform();
  };
}

/** Down and up again, within 0.9 seconds. */
const nod = (seconds: number) => (seconds > 0 && seconds < 0.9 ? 0.012 * Math.sin((seconds / 0.9) * Math.PI) ** 2 : 0);

function drawOpenMouth(context: Context, { x, y, halfWidth: w, lips, drawn }: Mouth, loudness: number): void {
  const open = w * (0.08 + 0.4 * loudness);
  const wide = w * (0.94 - 0.14 * loudness);
  const middle = y + w * 0.12 + open * 0.2;
  if (drawn !== null) oval(context, x, y - w * 0.02, w * 1.28, w * 0.58, drawn.skin);
  oval(context, x, middle, wide, open + w * 0.17, lips);
  context.save();
  context.beginPath();
  context.ellipse(x, middle, wide * 0.84, open, 0, 0, Math.PI * 2);
  context.fillStyle = "#3b0f16";
  context.fill();
  context.clip();
  oval(context, x, middle + open * 0.95, wide * 0.55, open * 0.6, "#c4515c");
  context.fillStyle = "#fbf7f0";
  context.beginPath();
  context.roundRect(
    x - wide * 0.6,
    middle - open - w * 0.05,
    wide * 1.2,
    w * 0.05 + Math.min(w * 0.24, open * 0.55),
    w * 0.08,
  );
  context.fill();
  context.restore();
}

/** A blink of a seventh of a second, every three seconds. */
const isBlinking = (seconds: number) => seconds > 0.5 && (seconds + 0.6) % 3.1 < 0.14;

function drawLids(
  context: Context,
  { x }: Mouth,
  { eyeY: y, eyeApart: apart, eyeRadius: radius, skin: lid }: NonNullable<Mouth["drawn"]>,
): void {
  for (const side of [-1, 1]) {
    oval(context, x + side * apart, y, radius * 1.5, radius * 1.08, lid);
    context.strokeStyle = darker(lid, 0.5);
    context.lineWidth = radius * 0.3;
    context.lineCap = "round";
    context.beginPath();
    context.ellipse(x + side * apart, y, radius * 1.35, radius * 0.7, 0, 0.15 * Math.PI, 0.85 * Math.PI);
    context.stroke();
  }
}

/** A row of rounded bars near the lower edge. */
function drawLevel(context: Context, { width, height }: Size, loudness: number, seconds: number): void {
  const unit = Math.min(width, height);
  const bars = 21;
  const step = unit * 0.024;
  // Not drawn on the very first frame, which is the given picture.
  context.globalAlpha = Math.min(1, seconds * 4);
  context.fillStyle = "rgba(255, 255, 255, 0.9)";
  context.shadowColor = "rgba(0, 0, 0, 0.45)";
  context.shadowBlur = unit * 0.02;
  context.beginPath();
  for (let i = 0; i < bars; i++) {
    const offset = (i - (bars - 1) / 2) / bars;
    const sway = 0.6 + 0.4 * Math.sin(seconds * 9 + i * 1.7);
    const tall = unit * (0.008 + 0.16 * loudness * sway * Math.cos(offset * Math.PI));
    context.roundRect(
      width / 2 + offset * bars * step - step * 0.28,
      height * 0.84 - tall / 2,
      step * 0.56,
      tall,
      step * 0.28,
    );
  }
  context.fill();
  context.shadowBlur = 0;
  context.globalAlpha = 1;
}
