import { between, type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief } from "./brief.ts";
import { alpha, type Context, disc, glow, mix, verticalFill } from "./brush.ts";

/** Heights that swing gently about a base line. */
export function waves(random: Random, count: number, base: number, swing: number): number[] {
  return Array.from({ length: count }, () => base + between(random, -swing, swing));
}

/** Heights that alternate between valleys on the base line and summits above it. */
export function peaks(random: Random, count: number, base: number, rise: number): number[] {
  return Array.from({ length: count }, (_, i) =>
    i % 2 === 0 ? base + rise * 0.15 * random() : base - rise * between(random, 0.45, 1),
  );
}

/** A pale band that lifts what comes after it off what lies behind. */
export function haze(context: Context, { width, height }: Size, y: number, color: string): void {
  const gradient = context.createLinearGradient(0, y - height * 0.2, 0, y + height * 0.04);
  gradient.addColorStop(0, alpha(color, 0));
  gradient.addColorStop(1, alpha(color, 0.5));
  context.fillStyle = gradient;
  context.fillRect(0, y - height * 0.2, width, height);
}

/** Where the sun or moon stands, as parts of the frame; other layers take their light from it. */
export function sunAt(
  brief: Brief,
  { width, height }: Size,
): { readonly x: number; readonly y: number; readonly radius: number } {
  const random = randomFrom(brief.key, "sun");
  const unit = Math.min(width, height);
  const side = random() < 0.5 ? between(random, 0.2, 0.36) : between(random, 0.64, 0.8);
  const low = brief.palette.sky[0] === "#41306b" || /\b(sunset|sunrise|dawn)\b/i.test(brief.prompt);
  return {
    x: width * side,
    y: height * (low ? between(random, 0.42, 0.5) : between(random, 0.2, 0.3)),
    radius: unit * between(random, 0.065, 0.1),
  };
}

/** Sky, sun or moon, stars and clouds. */
export function drawSky(context: Context, size: Size, brief: Brief): void {
  const { palette } = brief;
  verticalFill(context, size, palette.sky, 0.8);
  const random = randomFrom(brief.key, "sky");
  const unit = Math.min(size.width, size.height);
  if (palette.isDark) drawStars(context, size, brief);
  const sun = sunAt(brief, size);
  glow(context, sun.x, sun.y, unit * 0.55, palette.light, palette.isDark ? 0.35 : 0.6);
  disc(context, sun.x, sun.y, sun.radius, mix(palette.light, palette.accent, palette.isDark ? 0.25 : 0.12));
  const clouds = brief.setting === "space" ? 0 : 3 + Math.floor(random() * 3);
  for (let i = 0; i < clouds; i++) {
    const x = size.width * between(random, 0.02, 0.98);
    const y = size.height * between(random, 0.08, 0.38);
    drawCloud(context, x, y, unit * between(random, 0.12, 0.26), alpha(palette.light, palette.isDark ? 0.1 : 0.55));
  }
}

function drawStars(context: Context, size: Size, brief: Brief): void {
  const random = randomFrom(brief.key, "stars");
  const unit = Math.min(size.width, size.height);
  const count = brief.setting === "space" ? 260 : 90;
  for (let i = 0; i < count; i++) {
    const y = random() ** 1.4 * size.height * (brief.setting === "space" ? 1 : 0.55);
    disc(
      context,
      random() * size.width,
      y,
      unit * between(random, 0.0007, 0.0022),
      alpha(brief.palette.light, between(random, 0.25, 0.9)),
    );
  }
}

/** A flat cloud: three pills on one base line, as one path so that their overlaps do not show. */
function drawCloud(context: Context, x: number, y: number, width: number, fill: string): void {
  const h = width * 0.13;
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(x - width / 2, y - h, width, h, h / 2);
  context.roundRect(x - width * 0.28, y - h * 1.75, width * 0.5, h * 1.5, h * 0.75);
  context.roundRect(x - width * 0.08, y - h * 2.3, width * 0.24, h * 2, h * 0.8);
  context.fill("nonzero");
}
