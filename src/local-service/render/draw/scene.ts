import { createCanvas } from "@napi-rs/canvas";
import { between, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief, Weather } from "./brief.ts";
import { alpha, band, type Context, disc, glow, mix, type Surface, vertical } from "./brush.ts";
import { drawSubject } from "./figures.ts";
import { drawSetting } from "./settings.ts";

export function sunAt(brief: Brief, { width, height }: Size) {
  const random = randomFrom(brief.key, "sun");
  const side = random() < 0.5 ? between(random, 0.2, 0.36) : between(random, 0.64, 0.8);
  const isLow = /\b(sunset|sunrise|dusk|dawn|evening)\b/i.test(brief.prompt);
  return {
    x: width * side,
    y: height * (isLow ? between(random, 0.42, 0.5) : between(random, 0.2, 0.3)),
    radius: Math.min(width, height) * between(random, 0.065, 0.1),
  };
}

function drawSky(context: Context, size: Size, brief: Brief): void {
  const { width, height } = size;
  const { palette, setting } = brief;
  band(context, size, 0, vertical(context, 0, height * 0.8, palette.sky));
  const random = randomFrom(brief.key, "sky");
  const unit = Math.min(width, height);
  const [stars, lowest] = setting === "space" ? [260, 1] : [palette.isDark ? 90 : 0, 0.55];
  for (let i = 0; i < stars; i++) {
    const [x, y] = [random() * width, random() ** 1.4 * height * lowest];
    disc(context, x, y, unit * between(random, 0.0007, 0.0022), alpha(palette.light, between(random, 0.25, 0.9)));
  }
  const sun = sunAt(brief, size);
  glow(context, sun.x, sun.y, unit * 0.55, palette.light, palette.isDark ? 0.35 : 0.6);
  disc(context, sun.x, sun.y, sun.radius, mix(palette.light, palette.accent, palette.isDark ? 0.25 : 0.12));
  const clouds = setting === "space" ? 0 : 3 + Math.floor(random() * 3);
  context.fillStyle = alpha(palette.light, palette.isDark ? 0.1 : 0.55);
  for (let i = 0; i < clouds; i++) {
    drawCloud(context, width * random(), height * between(random, 0.08, 0.38), unit * between(random, 0.12, 0.26));
  }
}

function drawCloud(context: Context, x: number, y: number, width: number): void {
  const h = width * 0.13;
  context.beginPath();
  context.roundRect(x - width / 2, y - h, width, h, h / 2);
  context.roundRect(x - width * 0.28, y - h * 1.75, width * 0.5, h * 1.5, h * 0.75);
  context.roundRect(x - width * 0.08, y - h * 2.3, width * 0.24, h * 2, h * 0.8);
  context.fill("nonzero");
}

export function drawBackdrop(context: Context, size: Size, brief: Brief): void {
  const { width, height } = size;
  const { light } = brief.palette;
  drawSky(context, size, brief);
  drawSetting(context, size, brief, sunAt(brief, size));
  if (brief.weather === "fog") {
    const mist = [alpha(light, 0), alpha(light, 0.45), alpha(light, 0.15)];
    band(context, size, height * 0.35, vertical(context, height * 0.35, height, mist));
  }
  const [x, y, reach] = [width / 2, height / 2, Math.hypot(width, height) * 0.56];
  const rim = context.createRadialGradient(x, y, Math.min(width, height) * 0.45, x, y, reach);
  rim.addColorStop(0, "rgba(8, 8, 24, 0)");
  rim.addColorStop(1, "rgba(8, 8, 24, 0.2)");
  band(context, size, 0, rim);
}

export type Air = (context: Context, seconds: number, strength: number) => void;

/** `fall` is the distance per second, as a fraction of the frame's height. */
const WEATHER: Readonly<Record<Weather, readonly [count: number, fall: number]>> = {
  clear: [16, -0.02],
  fog: [10, -0.02],
  rain: [110, 1.7],
  snow: [90, 0.12],
  sparks: [50, -0.14],
};

export function airOf({ width, height }: Size, { key, weather, palette }: Brief): Air {
  const [count, fall] = WEATHER[weather];
  const random = randomFrom(key, "particles");
  const particles = Array.from({ length: count }, () => ({
    x: random(),
    y: random(),
    size: between(random, 0.4, 1),
    speed: between(random, 0.6, 1.3),
    phase: random() * Math.PI * 2,
  }));
  const unit = Math.min(width, height);
  const color = weather === "sparks" ? palette.accent : weather === "snow" ? "#ffffff" : palette.light;

  function drawRain(context: Context, seconds: number, strength: number): void {
    context.strokeStyle = alpha("#ebf2ff", 0.4 * strength);
    context.lineWidth = Math.max(1, unit * 0.0018);
    context.beginPath();
    for (const { x, y, size, speed } of particles) {
      const length = unit * 0.05 * size;
      const top = ((y + seconds * speed * fall) % 1.1) * height - length;
      const left = ((x - seconds * 0.08 + 2) % 1) * width;
      context.moveTo(left, top);
      context.lineTo(left - length * 0.18, top + length);
    }
    context.stroke();
  }

  function drawMotes(context: Context, seconds: number, strength: number): void {
    for (const { x, y, size, speed, phase } of particles) {
      const left = (x + 0.02 * Math.sin(seconds * speed + phase)) * width;
      const top = ((((y + seconds * speed * fall) % 1) + 1) % 1) * height;
      const twinkle = weather === "snow" ? 0.85 : 0.35 + 0.35 * Math.sin(seconds * 2 * speed + phase);
      disc(context, left, top, unit * size * 0.006, alpha(color, twinkle * strength));
    }
  }

  const draw = weather === "rain" ? drawRain : drawMotes;
  return (context, seconds, strength) => {
    if (strength > 0.01) draw(context, seconds, strength);
  };
}

export function drawScene(size: Size, brief: Brief): Surface {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext("2d");
  drawBackdrop(context, size, brief);
  drawSubject(context, size, brief);
  const isFalling = brief.weather !== "clear" && brief.weather !== "fog";
  if (isFalling) airOf(size, brief)(context, 0, 1);
  return canvas;
}
