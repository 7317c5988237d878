import { createCanvas } from "@napi-rs/canvas";
import { between, type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief, Palette, Setting, Weather } from "./brief.ts";
import {
  alpha,
  band,
  type Color,
  type Context,
  darker,
  disc,
  glow,
  lighter,
  mix,
  oval,
  ridge,
  type Surface,
  shape,
  slab,
  vertical,
} from "./brush.ts";
import { drawSubject } from "./figures.ts";

function sunAt(brief: Brief, { width, height }: Size) {
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

type Air = (context: Context, seconds: number, strength: number) => void;

/**
 * Number of particles in each kind of weather, and how far they fall per second, as a fraction of the frame's height.
 */
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

interface Stage extends Size {
  readonly context: Context;
  readonly brief: Brief;
  readonly palette: Palette;
  readonly random: Random;
  readonly unit: number;
  readonly sun: { readonly x: number; readonly y: number; readonly radius: number };
}

function distances({ far, mid, near }: Palette, count: number): Color[] {
  return Array.from({ length: count }, (_, i) => {
    const t = (2 * i) / (count - 1);
    return t < 1 ? mix(far, mid, t) : mix(mid, near, t - 1);
  });
}

function waves(random: Random, count: number, base: number, swing: number): number[] {
  return Array.from({ length: count }, () => base + between(random, -swing, swing));
}

function peaks(random: Random, count: number, base: number, rise: number): number[] {
  return Array.from({ length: count }, (_, i) =>
    i % 2 === 0 ? base + rise * 0.15 * random() : base - rise * between(random, 0.45, 1),
  );
}

function haze(stage: Stage, y: number): void {
  const { context, height, palette } = stage;
  const top = y - height * 0.2;
  const pale = [alpha(palette.sky[2], 0), alpha(palette.sky[2], 0.5)];
  band(context, stage, top, vertical(context, top, y + height * 0.04, pale));
}

function land(stage: Stage, base: number, swing: number, tone: Color): void {
  const { context, height, random } = stage;
  const fill = vertical(context, base - height * 0.05, base + height * 0.18, [lighter(tone, 0.17), tone]);
  ridge(context, stage, waves(random, 5, base, height * swing), fill);
}

function drawCity(stage: Stage): void {
  const { context, width, height, palette, random } = stage;
  const light = palette.isDark ? palette.accent : palette.light;
  for (const [row, color] of distances(palette, 4).slice(0, 3).entries()) {
    const step = width / (22 - 5.5 * row);
    for (let left = -step; left <= width; left += step) {
      const top = height * between(random, 0.34 + 0.12 * row, 0.58 + 0.1 * row);
      const wide = step * between(random, 0.75, 1.08);
      slab(context, left, top, wide, height - top, 2, color);
      if (random() < 0.25) context.fillRect(left + wide / 2, top - height * 0.05, wide * 0.04, height * 0.05);
      if (row > 0) drawWindows(stage, left, top, wide / 9, alpha(light, 0.35 * row));
    }
  }
  const ground = [mix(palette.near, palette.mid, 0.25), darker(palette.near, 0.25)];
  band(context, stage, height * 0.84, vertical(context, height * 0.84, height, ground));
}

function drawWindows({ context, height, random }: Stage, left: number, top: number, pane: number, color: string): void {
  context.fillStyle = color;
  for (let y = top + pane * 1.6; y < height * 0.84; y += pane * 2.1) {
    for (let column = 1; column < 8; column += 2) {
      if (random() < 0.4) context.fillRect(left + pane * column, y, pane, pane * 1.15);
    }
  }
}

function drawStudio(stage: Stage): void {
  const { context, width, height, unit, palette, brief } = stage;
  const isPortrait = brief.subject === "face";
  const wall = mix(palette.sky[1], brief.tint, 0.1);
  const shades = [lighter(wall, palette.isDark ? 0 : 0.12), wall, mix(palette.sky[2], wall, 0.5)];
  band(context, stage, 0, vertical(context, 0, height, shades));
  const [x, y] = [width * 0.5, height * (isPortrait ? 0.42 : 0.46)];
  disc(context, x, y, unit * 0.4, alpha(mix(palette.mid, brief.tint, 0.35), 0.28));
  disc(context, x, y, unit * 0.31, alpha(palette.light, palette.isDark ? 0.1 : 0.4));
  glow(context, width * 0.22, height * 0.1, unit * 0.9, palette.light, 0.35);
  if (isPortrait) return;
  const floor = [mix(wall, palette.mid, 0.32), mix(wall, palette.mid, 0.1)];
  band(context, stage, height * 0.7, vertical(context, height * 0.7, height, floor));
}

function drawSpace(stage: Stage): void {
  const { context, width, height, unit, palette, brief, random } = stage;
  glow(context, width * 0.3, height * 0.4, unit * 0.8, mix(brief.tint, palette.sky[2], 0.5), 0.35);
  const r = unit * between(random, 0.16, 0.22);
  const [x, y] = [width * between(random, 0.68, 0.82), height * between(random, 0.28, 0.4)];
  disc(context, x, y, r, mix(brief.tint, palette.mid, 0.25));
  context.save();
  context.clip();
  for (let i = 0; i < 4; i++) oval(context, x, y + r * (0.5 * i - 0.7), r * 1.2, r * 0.09, alpha(palette.light, 0.14));
  disc(context, x + r * 0.45, y + r * 0.35, r * 1.15, alpha(palette.near, 0.35));
  context.restore();
  context.strokeStyle = alpha(palette.light, 0.55);
  context.lineWidth = r * 0.07;
  context.beginPath();
  context.ellipse(x, y, r * 1.75, r * 0.42, -0.3, -0.25, Math.PI + 0.25);
  context.stroke();
  ridge(context, stage, waves(random, 7, height * 0.9, height * 0.02), palette.near);
}

function drawMountains(stage: Stage): void {
  const { context, width, height, palette, random } = stage;
  const ranges = [
    [palette.far, 0.66, 0.3, 7],
    [palette.mid, 0.76, 0.34, 5],
  ] as const;
  for (const [color, base, rise, count] of ranges) {
    const heights = peaks(random, count, height * base, height * rise);
    ridge(context, stage, heights, color, false);
    const snow = mix(palette.light, color, 0.25);
    for (let summit = 1; summit < count; summit += 2) drawSnow(context, width / (count - 1), heights, summit, snow);
    haze(stage, height * base);
  }
  land(stage, height * 0.83, 0.04, mix(palette.mid, palette.near, 0.65));
  land(stage, height * 0.91, 0.03, palette.near);
}

/** Corners of the snow on a mountain: horizontal distance from the summit, and fraction of the way down. */
const SNOW = [
  [0, 0],
  [0.21, 0.21],
  [0.08, 0.15],
  [0.01, 0.23],
  [-0.09, 0.19],
  [-0.26, 0.26],
] as const;

function drawSnow(context: Context, step: number, heights: readonly number[], summit: number, color: Color): void {
  const [left, top, right] = heights.slice(summit - 1, summit + 2) as [number, number, number];
  const corners = SNOW.map(([aside, down]) => {
    return [step * (summit + aside), top + ((aside < 0 ? left : right) - top) * down] as const;
  });
  shape(context, color, corners);
}

function drawSea(stage: Stage): void {
  const { context, width, height, palette, random, sun } = stage;
  const horizon = height * 0.58;
  const shore = mix(palette.far, palette.sky[2], 0.35);
  ridge(context, stage, peaks(random, 5, horizon + height * 0.01, height * 0.06), shore);
  band(context, stage, horizon, vertical(context, horizon, height, [shore, palette.mid, palette.near]));
  for (let i = 0; i < 56; i++) {
    const depth = (i % 28) / 28;
    const y = horizon + (height - horizon) * depth ** 1.5;
    const [high, spread] = [height * (0.002 + 0.005 * depth), sun.radius * (0.5 + depth * 2.2)];
    if (i < 28) {
      const long = spread * between(random, 0.5, 1.3);
      const left = sun.x + between(random, -0.5, 0.5) * spread - long / 2;
      slab(context, left, y, long, high, high, alpha(palette.light, 0.5 - 0.25 * depth));
    } else {
      const long = width * between(random, 0.03, 0.09) * (0.5 + depth);
      slab(context, random() * width, y, long, high * 0.7, high, alpha(palette.light, 0.16));
    }
  }
}

function drawForest(stage: Stage): void {
  const { context, width, height, palette, random } = stage;
  land(stage, height * 0.6, 0.05, mix(palette.far, palette.sky[2], 0.4));
  for (const [row, color] of distances(palette, 4).slice(0, 3).entries()) {
    const base = 0.66 + 0.11 * row;
    const step = width / (26 - 7.5 * row);
    for (let x = 0; x <= width + step; x += step) {
      const foot = height * (base + between(random, 0, 0.03));
      const tall = height * (0.16 + 0.09 * row) * between(random, 0.7, 1.1);
      drawPine(context, x + between(random, -0.4, 0.4) * step, foot, tall, color);
    }
    ridge(context, stage, waves(random, 6, height * (base + 0.02), height * 0.012), color);
    haze(stage, height * (base + 0.02));
  }
  land(stage, height * 0.93, 0.02, palette.near);
}

function drawPine(context: Context, x: number, base: number, tall: number, color: Color): void {
  slab(context, x - tall * 0.02, base - tall * 0.1, tall * 0.04, tall * 0.16, 0, color);
  for (let tier = 0; tier < 4; tier++) {
    const y = base - tall * (0.06 + tier * 0.22);
    const half = tall * (0.2 - tier * 0.038);
    shape(context, color, [
      [x - half, y],
      [x, y - tall * 0.36],
      [x + half, y],
    ]);
  }
}

function drawDesert(stage: Stage): void {
  const tones = distances(stage.palette, 5);
  for (const [i, tone] of tones.entries()) land(stage, stage.height * (0.6 + i * 0.085), 0.05, tone);
}

function drawHills(stage: Stage): void {
  const { context, width, height, palette, random } = stage;
  for (const [i, tone] of distances(palette, 4).entries()) {
    const base = height * (0.6 + i * 0.1);
    for (let tree = 0; tree < (i % 3 === 0 ? 0 : 5); tree++) {
      const [x, y, r] = [random() * width, base + height * 0.02, height * (0.022 + 0.012 * i)];
      slab(context, x - r * 0.12, y - r * 1.6, r * 0.24, r * 3, 1, darker(tone, 0.3));
      disc(context, x, y - r * 1.9, r, darker(tone, 0.16));
      disc(context, x - r * 0.25, y - r * 2.15, r * 0.62, darker(tone, 0.06));
    }
    land(stage, base, 0.05, tone);
  }
}

const DRAWERS: Readonly<Record<Setting, (stage: Stage) => void>> = {
  mountain: drawMountains,
  sea: drawSea,
  city: drawCity,
  forest: drawForest,
  desert: drawDesert,
  hills: drawHills,
  studio: drawStudio,
  space: drawSpace,
};

function drawSetting(context: Context, size: Size, brief: Brief, sun: Stage["sun"]): void {
  const random = randomFrom(brief.key, "setting");
  const unit = Math.min(size.width, size.height);
  DRAWERS[brief.setting]({ ...size, context, brief, palette: brief.palette, random, unit, sun });
}
