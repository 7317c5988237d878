import { type Context, disc, oval } from "./brush.ts";
import { alpha, type Color, darker, lighter } from "./color.ts";
import type { FaceGeometry } from "./face-geometry.ts";

export type HairStyle = "short" | "long" | "bob" | "bun" | "curly" | "bald";

/** The hair behind head and shoulders. */
export function drawHairBack(
  context: Context,
  { x, y, radius: r }: FaceGeometry,
  style: HairStyle,
  color: Color,
): void {
  const shade = darker(color, 0.22);
  context.fillStyle = shade;
  if (style === "bun") {
    disc(context, x, y - r * 1.55, r * 0.42, color);
    return;
  }
  if (style === "curly") {
    for (let i = 0; i <= 12; i++) {
      const angle = Math.PI * (0.92 + (i / 12) * 1.16);
      disc(context, x + Math.cos(angle) * r * 1.05, y - r * 0.2 + Math.sin(angle) * r * 1.12, r * 0.38, shade);
    }
    return;
  }
  if (style !== "long" && style !== "bob") return;
  const bottom = y + r * (style === "long" ? 2.1 : 0.95);
  context.beginPath();
  context.moveTo(x - r * 1.12, bottom);
  context.bezierCurveTo(x - r * 1.35, y + r * 0.3, x - r * 1.35, y - r * 1.5, x, y - r * 1.52);
  context.bezierCurveTo(x + r * 1.35, y - r * 1.5, x + r * 1.35, y + r * 0.3, x + r * 1.12, bottom);
  context.quadraticCurveTo(x, bottom - r * 0.3, x - r * 1.12, bottom);
  context.fill();
}

/** The hair over the forehead. */
export function drawHairFront(
  context: Context,
  { x, y, radius: r }: FaceGeometry,
  style: HairStyle,
  color: Color,
): void {
  if (style === "bald") return;
  if (style === "curly") {
    for (let i = 0; i <= 8; i++) {
      const angle = Math.PI * (1.06 + (i / 8) * 0.88);
      disc(
        context,
        x + Math.cos(angle) * r * 0.88,
        y - r * 0.28 + Math.sin(angle) * r * 0.92,
        r * 0.3,
        i % 2 ? color : lighter(color, 0.06),
      );
    }
    return;
  }
  const low = style === "short" ? 0.3 : 0.05;
  context.fillStyle = color;
  context.beginPath();
  context.moveTo(x - r * 1.05, y - r * low + r * 0.15);
  context.bezierCurveTo(x - r * 1.2, y - r * 1.2, x - r * 0.7, y - r * 1.5, x, y - r * 1.5);
  context.bezierCurveTo(x + r * 0.75, y - r * 1.5, x + r * 1.2, y - r * 1.15, x + r * 1.05, y - r * low + r * 0.15);
  context.bezierCurveTo(x + r * 0.95, y - r * 0.45, x + r * 0.85, y - r * 0.68, x + r * 0.62, y - r * 0.82);
  context.bezierCurveTo(x + r * 0.1, y - r * 0.78, x - r * 0.35, y - r * 0.72, x - r * 0.72, y - r * 0.74);
  context.bezierCurveTo(x - r * 0.92, y - r * 0.6, x - r * 0.97, y - r * 0.3, x - r * 1.05, y - r * low + r * 0.15);
  context.fill();
  oval(context, x - r * 0.25, y - r * 1.22, r * 0.5, r * 0.07, alpha(lighter(color, 0.4), 0.35), -0.12);
}
