import { between, type Random } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief } from "./brief.ts";
import {
  alpha,
  type Context,
  darker,
  disc,
  glow,
  lighter,
  mix,
  oval,
  ridge,
  shape,
  slab,
  verticalFill,
} from "./brush.ts";
import { haze, peaks, sunAt, waves } from "./sky.ts";

export function drawCity(context: Context, size: Size, { palette }: Brief, random: Random): void {
  const { width, height } = size;
  const rows = [
    [mix(palette.far, palette.sky[2], 0.25), 0.34, 0.58, 22, 0],
    [palette.mid, 0.44, 0.68, 16, 0.5],
    [mix(palette.mid, palette.near, 0.75), 0.58, 0.78, 11, 1],
  ] as const;
  for (const [color, tall, low, count, lit] of rows) {
    const step = width / count;
    for (let i = -1; i <= count; i++) {
      const top = height * between(random, tall, low);
      const left = i * step + between(random, -0.1, 0.1) * step;
      const w = step * between(random, 0.75, 1.08);
      slab(context, left, top, w, height - top, 2, color);
      if (random() < 0.25)
        context.fillRect(left + w / 2 - 1, top - height * 0.05, Math.max(2, w * 0.03), height * 0.05);
      if (lit > 0)
        drawWindows(context, left, top, w, height * 0.86, palette.isDark ? palette.accent : palette.light, lit, random);
    }
  }
  const ground = context.createLinearGradient(0, height * 0.84, 0, height);
  ground.addColorStop(0, mix(palette.near, palette.mid, 0.25));
  ground.addColorStop(1, darker(palette.near, 0.25));
  context.fillStyle = ground;
  context.fillRect(0, height * 0.84, width, height * 0.16);
}

function drawWindows(
  context: Context,
  left: number,
  top: number,
  width: number,
  bottom: number,
  color: string,
  lit: number,
  random: Random,
): void {
  const pane = width / 9;
  for (let y = top + pane * 1.6; y < bottom - pane; y += pane * 2.1) {
    for (let column = 0; column < 4; column++) {
      const on = random() < 0.45 * lit;
      if (!on) continue;
      context.fillStyle = alpha(color, between(random, 0.35, 0.85) * lit);
      context.fillRect(left + pane * (1 + column * 2), y, pane, pane * 1.15);
    }
  }
}

/** A seamless backdrop with a soft light, a large quiet circle and a floor. */
export function drawStudio(context: Context, size: Size, { palette, tint, subject }: Brief, random: Random): void {
  const { width, height } = size;
  const wall = mix(palette.sky[1], tint, 0.1);
  verticalFill(context, size, [lighter(wall, palette.isDark ? 0 : 0.12), wall, mix(palette.sky[2], wall, 0.5)]);
  const unit = Math.min(width, height);
  const x = width * 0.5;
  const y = height * (subject === "face" ? 0.42 : 0.46);
  disc(context, x, y, unit * 0.4, alpha(mix(palette.mid, tint, 0.35), 0.28));
  disc(
    context,
    x + unit * between(random, -0.03, 0.03),
    y,
    unit * 0.31,
    alpha(palette.light, palette.isDark ? 0.1 : 0.4),
  );
  glow(context, width * 0.22, height * 0.1, unit * 0.9, palette.light, 0.35);
  if (subject === "face") return;
  const floor = context.createLinearGradient(0, height * 0.7, 0, height);
  floor.addColorStop(0, mix(wall, palette.mid, 0.32));
  floor.addColorStop(1, mix(wall, palette.mid, 0.1));
  context.fillStyle = floor;
  context.fillRect(0, height * 0.7, width, height * 0.3);
}

export function drawSpace(context: Context, size: Size, { palette, tint }: Brief, random: Random): void {
  const { width, height } = size;
  const unit = Math.min(width, height);
  glow(context, width * 0.3, height * 0.4, unit * 0.8, mix(tint, palette.sky[2], 0.5), 0.35);
  const r = unit * between(random, 0.16, 0.22);
  const [x, y] = [width * between(random, 0.68, 0.82), height * between(random, 0.28, 0.4)];
  disc(context, x, y, r, mix(tint, palette.mid, 0.25));
  context.save();
  context.beginPath();
  context.arc(x, y, r, 0, Math.PI * 2);
  context.clip();
  for (let i = 0; i < 4; i++)
    oval(context, x, y - r + r * 0.5 * (i + 0.6), r * 1.2, r * 0.09, alpha(palette.light, 0.14));
  disc(context, x + r * 0.45, y + r * 0.35, r * 1.15, alpha(palette.near, 0.35));
  context.restore();
  context.strokeStyle = alpha(palette.light, 0.55);
  context.lineWidth = r * 0.07;
  context.beginPath();
  context.ellipse(x, y, r * 1.75, r * 0.42, -0.3, -0.25, Math.PI + 0.25);
  context.stroke();
  ridge(context, size, waves(random, 7, height * 0.9, height * 0.02), palette.near);
}

export function drawMountains(context: Context, size: Size, { palette }: Brief, random: Random): void {
  const { height } = size;
  const layers = [
    [palette.far, 0.66, 0.3, 7],
    [palette.mid, 0.76, 0.34, 5],
  ] as const;
  for (const [color, base, rise, count] of layers) {
    const heights = peaks(random, count, height * base, height * rise);
    ridge(context, size, heights, color, false);
    drawSnowCaps(context, size, heights, mix(palette.light, color, 0.25));
    haze(context, size, height * base, palette.sky[2]);
  }
  ridge(context, size, waves(random, 6, height * 0.83, height * 0.04), mix(palette.mid, palette.near, 0.65));
  ridge(context, size, waves(random, 5, height * 0.91, height * 0.03), palette.near);
}

/** Two-tone caps: the lit flank to the left of each summit, in the mountain's own slope. */
function drawSnowCaps(context: Context, { width }: Size, heights: readonly number[], color: string): void {
  const step = width / (heights.length - 1);
  for (let i = 1; i < heights.length - 1; i += 2) {
    const top = heights[i] ?? 0;
    const [left, right] = [heights[i - 1] ?? top, heights[i + 1] ?? top];
    const x = i * step;
    const part = 0.26;
    const at = (t: number, side: -1 | 1) => [x + side * step * t, top + ((side < 0 ? left : right) - top) * t] as const;
    const low = at(part, -1);
    const lowRight = at(part * 0.8, 1);
    shape(context, color, [
      [x, top],
      lowRight,
      [x + step * part * 0.3, top + (lowRight[1] - top) * 0.72],
      [x + step * part * 0.05, top + (lowRight[1] - top) * 1.1],
      [x - step * part * 0.35, top + (low[1] - top) * 0.75],
      low,
    ]);
  }
}

export function drawSea(context: Context, size: Size, brief: Brief, random: Random): void {
  const { width, height } = size;
  const { palette } = brief;
  const horizon = height * 0.58;
  ridge(
    context,
    size,
    peaks(random, 5, horizon + height * 0.01, height * 0.06),
    mix(palette.far, palette.sky[2], 0.35),
  );
  const water = context.createLinearGradient(0, horizon, 0, height);
  water.addColorStop(0, mix(palette.far, palette.sky[2], 0.3));
  water.addColorStop(0.45, palette.mid);
  water.addColorStop(1, palette.near);
  context.fillStyle = water;
  context.fillRect(0, horizon, width, height - horizon);
  const sun = sunAt(brief, size);
  for (let i = 0; i < 26; i++) {
    const depth = i / 26;
    const y = horizon + (height - horizon) * depth ** 1.5;
    const spread = sun.radius * (0.5 + depth * 2.2);
    const length = spread * between(random, 0.5, 1.3);
    slab(
      context,
      sun.x + between(random, -0.5, 0.5) * spread - length / 2,
      y,
      length,
      height * (0.002 + 0.006 * depth),
      height,
      alpha(palette.light, 0.5 - 0.25 * depth),
    );
  }
  for (let i = 0; i < 30; i++) {
    const depth = random();
    const y = horizon + (height - horizon) * (0.08 + 0.9 * depth);
    const length = width * between(random, 0.03, 0.09) * (0.5 + depth);
    slab(context, random() * width, y, length, height * 0.003 * (0.6 + depth), height, alpha(palette.light, 0.16));
  }
}

export function drawForest(context: Context, size: Size, { palette }: Brief, random: Random): void {
  const { width, height } = size;
  ridge(context, size, waves(random, 5, height * 0.6, height * 0.05), mix(palette.far, palette.sky[2], 0.4));
  const rows = [
    [palette.far, 0.66, 0.16, 26],
    [palette.mid, 0.76, 0.24, 17],
    [mix(palette.mid, palette.near, 0.7), 0.88, 0.34, 11],
  ] as const;
  for (const [color, base, tall, count] of rows) {
    for (let i = 0; i <= count; i++) {
      const x = (i / count) * width + between(random, -0.4, 0.4) * (width / count);
      drawPine(
        context,
        x,
        height * (base + between(random, 0, 0.03)),
        height * tall * between(random, 0.7, 1.1),
        color,
      );
    }
    ridge(context, size, waves(random, 6, height * (base + 0.02), height * 0.012), color);
    haze(context, size, height * (base + 0.02), palette.sky[2]);
  }
  ridge(context, size, waves(random, 5, height * 0.93, height * 0.02), palette.near);
}

function drawPine(context: Context, x: number, base: number, tall: number, color: string): void {
  context.fillStyle = color;
  context.fillRect(x - tall * 0.02, base - tall * 0.1, tall * 0.04, tall * 0.16);
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

export function drawDesert(context: Context, size: Size, { palette }: Brief, random: Random): void {
  const { height } = size;
  const tones = [
    palette.far,
    mix(palette.far, palette.mid, 0.6),
    palette.mid,
    mix(palette.mid, palette.near, 0.6),
    palette.near,
  ];
  for (const [i, tone] of tones.entries()) {
    const base = height * (0.6 + i * 0.085);
    const gradient = context.createLinearGradient(0, base - height * 0.06, 0, base + height * 0.16);
    gradient.addColorStop(0, lighter(tone, 0.22));
    gradient.addColorStop(1, tone);
    ridge(context, size, waves(random, 4 + (i % 2), base, height * (0.05 - i * 0.005)), gradient);
  }
}

export function drawHills(context: Context, size: Size, { palette }: Brief, random: Random): void {
  const { width, height } = size;
  const tones = [palette.far, mix(palette.far, palette.mid, 0.7), mix(palette.mid, palette.near, 0.25), palette.near];
  for (const [i, tone] of tones.entries()) {
    const base = height * (0.6 + i * 0.1);
    const heights = waves(random, 5, base, height * 0.05);
    if (i > 0 && i < 3) {
      for (let tree = 0; tree < 5; tree++) {
        const x = random() * width;
        const y = base + height * 0.02;
        const r = height * (0.022 + 0.012 * i);
        slab(context, x - r * 0.12, y - r * 1.6, r * 0.24, r * 3, 1, darker(tone, 0.3));
        disc(context, x, y - r * 1.9, r, darker(tone, 0.16));
        disc(context, x - r * 0.25, y - r * 2.15, r * 0.62, darker(tone, 0.06));
      }
    }
    const gradient = context.createLinearGradient(0, base - height * 0.05, 0, base + height * 0.2);
    gradient.addColorStop(0, lighter(tone, 0.14));
    gradient.addColorStop(1, tone);
    ridge(context, size, heights, gradient);
  }
}
