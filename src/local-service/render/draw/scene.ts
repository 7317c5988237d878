import { createCanvas } from "@napi-rs/canvas";
import { between, type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief, Setting } from "./brief.ts";
import { alpha, type Context, disc, type Surface } from "./brush.ts";
import {
  drawCity,
  drawDesert,
  drawForest,
  drawHills,
  drawMountains,
  drawSea,
  drawSpace,
  drawStudio,
} from "./settings.ts";
import { drawSky } from "./sky.ts";
import { drawSubject } from "./subjects.ts";

type Drawer = (context: Context, size: Size, brief: Brief, random: Random) => void;

const DRAWERS: Readonly<Record<Setting, Drawer>> = {
  mountain: drawMountains,
  sea: drawSea,
  city: drawCity,
  forest: drawForest,
  desert: drawDesert,
  hills: drawHills,
  studio: drawStudio,
  space: drawSpace,
};

/** The place of the picture, in front of the sky. */
export function drawSetting(context: Context, size: Size, brief: Brief): void {
  DRAWERS[brief.setting](context, size, brief, randomFrom(brief.key, "setting"));
}

/** Sky and place, without the subject. */
export function drawBackdrop(context: Context, size: Size, brief: Brief): void {
  drawSky(context, size, brief);
  drawSetting(context, size, brief);
}

/** The foreground: static weather, and a vignette. */
export function drawAir(context: Context, size: Size, brief: Brief): void {
  const { width, height } = size;
  const random = randomFrom(brief.key, "air");
  const unit = Math.min(width, height);
  if (brief.weather === "fog") {
    const mist = context.createLinearGradient(0, height * 0.35, 0, height);
    mist.addColorStop(0, alpha(brief.palette.light, 0));
    mist.addColorStop(0.6, alpha(brief.palette.light, 0.45));
    mist.addColorStop(1, alpha(brief.palette.light, 0.15));
    context.fillStyle = mist;
    context.fillRect(0, 0, width, height);
  }
  if (brief.weather === "snow" || brief.weather === "sparks") {
    const color = brief.weather === "snow" ? "#ffffff" : brief.palette.accent;
    for (let i = 0; i < 90; i++)
      disc(
        context,
        random() * width,
        random() * height,
        unit * between(random, 0.001, 0.005),
        alpha(color, between(random, 0.4, 0.9)),
      );
  }
  if (brief.weather === "rain") {
    context.strokeStyle = alpha(brief.palette.light, 0.35);
    context.lineWidth = Math.max(1, unit * 0.0016);
    context.beginPath();
    for (let i = 0; i < 130; i++) {
      const [x, y, l] = [random() * width, random() * height, unit * between(random, 0.02, 0.05)];
      context.moveTo(x, y);
      context.lineTo(x - l * 0.2, y + l);
    }
    context.stroke();
  }
  const rim = context.createRadialGradient(
    width / 2,
    height / 2,
    unit * 0.45,
    width / 2,
    height / 2,
    Math.hypot(width, height) * 0.56,
  );
  rim.addColorStop(0, "rgba(8, 8, 24, 0)");
  rim.addColorStop(1, "rgba(8, 8, 24, 0.2)");
  context.fillStyle = rim;
  context.fillRect(0, 0, width, height);
}

/** The whole picture of a brief. */
export function drawScene(size: Size, brief: Brief): Surface {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext("2d");
  drawBackdrop(context, size, brief);
  drawSubject(context, size, brief);
  drawAir(context, size, brief);
  return canvas;
}
