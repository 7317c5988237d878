import { between, randomFrom } from "../random.ts";
import type { Brief } from "./brief.ts";
import { alpha, type Context, darker, disc, fillPath, mix, oval, shape, slab } from "./brush.ts";

function wheel(context: Context, x: number, brief: Brief): void {
  disc(context, x, 0.8, 0.21, "#1f2128");
  disc(context, x, 0.8, 0.12, mix("#c9ced6", brief.palette.sky[2], 0.2));
  disc(context, x, 0.8, 0.045, "#50545e");
}

export function drawCar(context: Context, brief: Brief): void {
  const paint = brief.tint;
  fillPath(context, darker(paint, 0.12), "M-.62 .42C-.48 .12-.36 .02-.12 .02L.16 .02C.4 .02 .5 .2 .66 .42Z");
  const glass = mix(brief.palette.sky[0], "#e8f4fa", 0.55);
  shape(context, glass, [
    [-0.5, 0.4],
    [-0.36, 0.17],
    [-0.28, 0.11],
    [-0.04, 0.1],
    [-0.04, 0.4],
  ]);
  shape(context, glass, [
    [0.03, 0.4],
    [0.03, 0.1],
    [0.16, 0.1],
    [0.32, 0.16],
    [0.52, 0.4],
  ]);
  fillPath(
    context,
    paint,
    "M-1 .62C-1 .44-.86 .4-.6 .39L.62 .39C.88 .42 1 .5 1 .64L1 .74Q1 .82 .92 .82L-.93 .82Q-1 .82-1 .74Z",
  );
  slab(context, -0.92, 0.47, 1.78, 0.035, 0.02, alpha("#ffffff", 0.28));
  slab(context, 0.88, 0.52, 0.11, 0.09, 0.04, "#ffe9ad");
  slab(context, -0.99, 0.53, 0.08, 0.08, 0.03, "#c8372f");
  slab(context, -0.9, 0.74, 1.8, 0.08, 0.03, alpha("#15171d", 0.35));
  for (const x of [-0.56, 0.58]) {
    disc(context, x, 0.8, 0.25, darker(paint, 0.5));
    wheel(context, x, brief);
  }
}

export function drawBoat(context: Context, brief: Brief): void {
  const { palette, tint } = brief;
  context.fillStyle = darker(palette.near, 0.2);
  context.fillRect(-0.02, -0.95, 0.04, 1.6);
  fillPath(context, palette.light, "M.06-.92Q.72-.1 .7 .52L.06 .52");
  fillPath(context, tint, "M-.06-.7Q-.5 0-.55 .52L-.06 .52");
  fillPath(context, mix(palette.near, "#5a2e22", 0.45), "M-.85 .62L.92 .62Q.72 .98 .45 .98L-.5 .98Q-.75 .95-.85 .62");
  slab(context, -0.8, 0.68, 1.66, 0.05, 0.02, palette.light);
  for (const [i, width] of [1.9, 1.4, 0.8].entries())
    slab(context, -width / 2, 1 + i * 0.1, width, 0.03, 0.02, alpha(palette.light, 0.4 - i * 0.1));
}

export function drawRocket(context: Context, brief: Brief): void {
  const { palette, tint } = brief;
  for (const [r, color] of [
    [0.2, "#ff9a3c"],
    [0.12, "#ffe08a"],
  ] as const) {
    context.fillStyle = color;
    context.beginPath();
    context.moveTo(-r, 0.62);
    context.quadraticCurveTo(-r * 0.6, 1.1, 0, 0.75 + r * 3);
    context.quadraticCurveTo(r * 0.6, 1.1, r, 0.62);
    context.fill();
  }
  for (const side of [-1, 1]) {
    shape(context, darker(tint, 0.15), [
      [side * 0.26, 0.1],
      [side * 0.58, 0.5],
      [side * 0.56, 0.74],
      [side * 0.22, 0.55],
    ]);
  }
  const outline = fillPath(context, palette.light, "M0-1C.42-.55 .38 .2 .24 .62L-.24 .62C-.38 .2-.42-.55 0-1");
  context.save();
  context.clip(outline);
  context.fillStyle = tint;
  context.fillRect(-1, -1, 2, 0.38);
  context.fillRect(-1, 0.46, 2, 0.2);
  context.fillStyle = alpha("#1b2340", 0.12);
  context.fillRect(0.08, -1, 1, 2);
  context.restore();
  disc(context, 0, -0.22, 0.16, mix(palette.near, "#8fa3c8", 0.3));
  disc(context, 0, -0.22, 0.11, "#a9dcf2");
  disc(context, -0.035, -0.26, 0.03, "#ffffff");
}

export function drawBalloon(context: Context, brief: Brief): void {
  const { tint, palette } = brief;
  context.save();
  context.beginPath();
  context.moveTo(-0.13, 0.5);
  context.bezierCurveTo(-0.3, 0.25, -0.85, 0.05, -0.85, -0.5);
  context.bezierCurveTo(-0.85, -1.15, 0.85, -1.15, 0.85, -0.5);
  context.bezierCurveTo(0.85, 0.05, 0.3, 0.25, 0.13, 0.5);
  context.closePath();
  context.clip();
  context.fillStyle = tint;
  context.fillRect(-1, -1.2, 2, 2);
  for (const [rx, color] of [
    [0.62, palette.light],
    [0.38, tint],
    [0.14, palette.light],
  ] as const)
    oval(context, 0, -0.3, rx, 1, color);
  oval(context, 0.55, -0.2, 0.5, 1, alpha("#10142a", 0.12));
  context.restore();
  context.strokeStyle = darker(palette.near, 0.1);
  context.lineWidth = 0.015;
  context.beginPath();
  for (const x of [-0.11, 0.11]) {
    context.moveTo(x, 0.5);
    context.lineTo(x, 0.76);
  }
  context.stroke();
  slab(context, -0.15, 0.74, 0.3, 0.22, 0.05, "#8a5a3c");
}

export function drawBirds(context: Context, brief: Brief): void {
  const random = randomFrom(brief.key, "birds");
  context.strokeStyle = brief.palette.isDark ? brief.palette.light : brief.palette.near;
  context.lineCap = "round";
  context.lineJoin = "round";
  for (let i = 0; i < 9; i++) {
    const s = between(random, 0.12, i === 0 ? 0.5 : 0.26) * (i === 0 ? 1.2 : 1);
    const x = i === 0 ? 0 : between(random, -1.5, 1.5);
    const y = i === 0 ? 0.1 : between(random, -0.4, 1);
    context.lineWidth = s * 0.13;
    context.beginPath();
    context.moveTo(x - s, y - s * 0.15);
    context.quadraticCurveTo(x - s * 0.5, y - s * 0.55, x, y);
    context.quadraticCurveTo(x + s * 0.5, y - s * 0.55, x + s, y - s * 0.15);
    context.stroke();
  }
}
