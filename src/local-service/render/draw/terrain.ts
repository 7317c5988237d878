import { between, type Random } from "../random.ts";
import type { Size } from "../size.ts";
import type { Context } from "./brush.ts";
import { alpha } from "./color.ts";

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
