import { between, randomFrom } from "../random.ts";
import type { Brief } from "./brief.ts";
import { type Context, disc, oval, shape, slab } from "./brush.ts";
import { alpha, darker, lighter, mix } from "./color.ts";

function wheel(context: Context, x: number, brief: Brief): void {
  disc(context, x, 0.8, 0.21, "#1f2128");
  disc(context, x, 0.8, 0.12, mix("#c9ced6", brief.palette.sky[2], 0.2));
  disc(context, x, 0.8, 0.045, "#50545e");
}

export function drawCar(context: Context, brief: Brief): void {
  const paint = brief.tint;
  context.fillStyle = darker(paint, 0.12);
  context.beginPath();
  context.moveTo(-0.62, 0.42);
  context.bezierCurveTo(-0.48, 0.12, -0.36, 0.02, -0.12, 0.02);
  context.lineTo(0.16, 0.02);
  context.bezierCurveTo(0.4, 0.02, 0.5, 0.2, 0.66, 0.42);
  context.closePath();
  context.fill();
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
  context.fillStyle = paint;
  context.beginPath();
  context.moveTo(-1, 0.62);
  context.bezierCurveTo(-1, 0.44, -0.86, 0.4, -0.6, 0.39);
  context.lineTo(0.62, 0.39);
  context.bezierCurveTo(0.88, 0.42, 1, 0.5, 1, 0.64);
  context.lineTo(1, 0.74);
  context.quadraticCurveTo(1, 0.82, 0.92, 0.82);
  context.lineTo(-0.93, 0.82);
  context.quadraticCurveTo(-1, 0.82, -1, 0.74);
  context.closePath();
  context.fill();
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
  context.fillStyle = palette.light;
  context.beginPath();
  context.moveTo(0.06, -0.92);
  context.quadraticCurveTo(0.72, -0.1, 0.7, 0.52);
  context.lineTo(0.06, 0.52);
  context.fill();
  context.fillStyle = tint;
  context.beginPath();
  context.moveTo(-0.06, -0.7);
  context.quadraticCurveTo(-0.5, 0, -0.55, 0.52);
  context.lineTo(-0.06, 0.52);
  context.fill();
  context.fillStyle = mix(palette.near, "#5a2e22", 0.45);
  context.beginPath();
  context.moveTo(-0.85, 0.62);
  context.lineTo(0.92, 0.62);
  context.quadraticCurveTo(0.72, 0.98, 0.45, 0.98);
  context.lineTo(-0.5, 0.98);
  context.quadraticCurveTo(-0.75, 0.95, -0.85, 0.62);
  context.fill();
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
  context.fillStyle = palette.light;
  context.beginPath();
  context.moveTo(0, -1);
  context.bezierCurveTo(0.42, -0.55, 0.38, 0.2, 0.24, 0.62);
  context.lineTo(-0.24, 0.62);
  context.bezierCurveTo(-0.38, 0.2, -0.42, -0.55, 0, -1);
  context.fill();
  context.save();
  context.clip();
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

export function drawBottle(context: Context, brief: Brief): void {
  const { tint, palette } = brief;
  const glass = context.createLinearGradient(-0.45, 0, 0.45, 0);
  glass.addColorStop(0, darker(tint, 0.28));
  glass.addColorStop(0.3, lighter(tint, 0.35));
  glass.addColorStop(0.55, tint);
  glass.addColorStop(1, darker(tint, 0.35));
  slab(context, -0.85, 0.9, 1.7, 0.16, 0.05, lighter(palette.mid, 0.45));
  slab(context, -0.95, 0.98, 1.9, 0.12, 0.05, lighter(palette.mid, 0.25));
  const metal = context.createLinearGradient(-0.16, 0, 0.16, 0);
  metal.addColorStop(0, "#8d8473");
  metal.addColorStop(0.35, "#f6efdc");
  metal.addColorStop(1, "#84795f");
  context.fillStyle = metal;
  context.beginPath();
  context.roundRect(-0.15, -0.86, 0.3, 0.3, 0.03);
  context.fill();
  context.fillRect(-0.11, -0.58, 0.22, 0.1);
  context.fillStyle = glass;
  context.beginPath();
  context.roundRect(-0.44, -0.5, 0.88, 1.4, [0.2, 0.2, 0.09, 0.09]);
  context.fill();
  slab(context, -0.3, -0.12, 0.6, 0.66, 0.03, alpha("#fffdf8", 0.94));
  slab(context, -0.18, 0.0, 0.36, 0.05, 0.02, darker(tint, 0.25));
  disc(context, 0, 0.22, 0.1, alpha(tint, 0.8));
  for (const [y, w] of [
    [0.39, 0.3],
    [0.45, 0.2],
  ] as const)
    slab(context, -w / 2, y, w, 0.02, 0.01, alpha(palette.near, 0.5));
  slab(context, -0.37, -0.4, 0.05, 1.2, 0.025, alpha("#ffffff", 0.5));
}

export function drawCup(context: Context, brief: Brief): void {
  const { tint, palette } = brief;
  const china = mix("#fffaf2", tint, 0.06);
  oval(context, 0, 0.92, 0.85, 0.11, lighter(palette.mid, 0.5));
  oval(context, 0, 0.9, 0.72, 0.075, lighter(palette.mid, 0.65));
  context.strokeStyle = darker(china, 0.08);
  context.lineWidth = 0.1;
  context.beginPath();
  context.ellipse(0.56, 0.35, 0.24, 0.24, 0, -1.3, 1.5);
  context.stroke();
  context.fillStyle = china;
  context.beginPath();
  context.moveTo(-0.58, 0.06);
  context.bezierCurveTo(-0.56, 0.6, -0.42, 0.88, -0.26, 0.9);
  context.lineTo(0.26, 0.9);
  context.bezierCurveTo(0.42, 0.88, 0.56, 0.6, 0.58, 0.06);
  context.fill();
  context.save();
  context.clip();
  context.fillStyle = alpha(tint, 0.85);
  context.fillRect(-1, 0.42, 2, 0.13);
  context.fillStyle = alpha("#20160f", 0.07);
  context.fillRect(0.18, -1, 1, 2);
  context.restore();
  oval(context, 0, 0.06, 0.58, 0.13, darker(china, 0.06));
  oval(context, 0, 0.075, 0.52, 0.1, "#5b3420");
  oval(context, -0.05, 0.075, 0.26, 0.045, alpha("#e9c79c", 0.85));
  context.strokeStyle = alpha("#ffffff", 0.55);
  context.lineCap = "round";
  context.lineWidth = 0.05;
  for (const x of [-0.2, 0.02, 0.24]) {
    context.beginPath();
    context.moveTo(x, -0.15);
    context.bezierCurveTo(x - 0.16, -0.38, x + 0.16, -0.52, x, -0.78);
    context.stroke();
  }
}

export function drawHouse(context: Context, brief: Brief): void {
  const { tint, palette } = brief;
  const wall = mix("#fbf3e6", palette.sky[2], 0.2);
  context.fillStyle = darker(tint, 0.3);
  context.fillRect(0.32, -0.72, 0.18, 0.5);
  context.fillStyle = wall;
  context.fillRect(-0.72, -0.08, 1.44, 1.08);
  context.fillStyle = alpha(palette.near, 0.1);
  context.fillRect(0.3, -0.08, 0.42, 1.08);
  shape(context, darker(tint, 0.08), [
    [-0.92, 0],
    [0, -0.82],
    [0.92, 0],
  ]);
  slab(context, -0.16, 0.42, 0.32, 0.58, 0.03, darker(tint, 0.35));
  disc(context, 0.08, 0.72, 0.025, "#ffe08a");
  for (const x of [-0.5, 0.5]) {
    slab(context, x - 0.15, 0.2, 0.3, 0.34, 0.03, palette.isDark ? "#ffdf8f" : "#bfe0ea");
    context.fillStyle = wall;
    context.fillRect(x - 0.012, 0.2, 0.024, 0.34);
    context.fillRect(x - 0.15, 0.36, 0.3, 0.022);
  }
  disc(context, 0, -0.3, 0.13, palette.isDark ? "#ffdf8f" : "#bfe0ea");
}

export function drawFlower(context: Context, brief: Brief): void {
  const random = randomFrom(brief.key, "flower");
  const stem = mix("#3b7a4b", brief.palette.near, 0.25);
  for (const [x, y, s] of [
    [-0.52, -0.1, 0.3],
    [0.5, 0.02, 0.27],
    [0, -0.45, 0.42],
  ] as const) {
    context.strokeStyle = stem;
    context.lineWidth = 0.05;
    context.beginPath();
    context.moveTo(x * 0.15, 1.2);
    context.quadraticCurveTo(x * 0.2, 0.5, x, y);
    context.stroke();
    oval(context, x * 0.5 + 0.14, 0.62, 0.2, 0.07, lighter(stem, 0.12), -0.6);
    oval(context, x * 0.5 - 0.14, 0.72, 0.2, 0.07, stem, 0.6);
    const petals = 9;
    const turn = random();
    for (const [reach, tone] of [
      [1, brief.tint],
      [0.7, lighter(brief.tint, 0.28)],
    ] as const) {
      for (let i = 0; i < petals; i++) {
        const angle = turn + (i / petals) * Math.PI * 2 + (reach < 1 ? Math.PI / petals : 0);
        oval(
          context,
          x + Math.cos(angle) * s * 0.58 * reach,
          y + Math.sin(angle) * s * 0.58 * reach,
          s * 0.46 * reach,
          s * 0.2,
          tone,
          angle,
        );
      }
    }
    disc(context, x, y, s * 0.26, "#f2c230");
    disc(context, x - s * 0.04, y - s * 0.04, s * 0.17, "#ffdc6b");
  }
}
