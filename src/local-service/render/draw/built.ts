import { between, type Random } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief } from "./brief.ts";
import { type Context, disc, glow, oval, ridge, slab, verticalFill } from "./brush.ts";
import { alpha, darker, lighter, mix } from "./color.ts";
import { waves } from "./sky.ts";

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
