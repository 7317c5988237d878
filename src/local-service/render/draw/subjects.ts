import { randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import { drawCat, drawDog, drawRobot } from "./animals.ts";
import type { Brief, Subject } from "./brief.ts";
import { alpha, type Context, darker, disc, fillPath, lighter, mix, oval, shape, slab } from "./brush.ts";
import { drawFace } from "./face.ts";
import { drawBalloon, drawBirds, drawBoat, drawCar, drawRocket } from "./vehicles.ts";

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
  const outline = fillPath(context, china, "M-.58 .06C-.56 .6-.42 .88-.26 .9L.26 .9C.42 .88 .56 .6 .58 .06");
  context.save();
  context.clip(outline);
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

/** Draws around the origin within a box two units wide; y points down, the ground is at y = 1. */
export type Drawer = (context: Context, brief: Brief) => void;

interface Placement {
  readonly draw: Drawer;
  /** Height of the ground (or of the middle, for what flies) as a part of the frame. */
  readonly at: number;
  /** Half the width as a part of the shorter side. */
  readonly scale: number;
  /** Half the width of its shadow on the ground; 0 for what flies or floats. */
  readonly shadow: number;
}

const PLACEMENTS: Readonly<Record<Exclude<Subject, "face">, Placement>> = {
  cat: { draw: drawCat, at: 0.84, scale: 0.29, shadow: 0.75 },
  dog: { draw: drawDog, at: 0.84, scale: 0.29, shadow: 0.75 },
  robot: { draw: drawRobot, at: 0.84, scale: 0.28, shadow: 0.62 },
  bird: { draw: drawBirds, at: 0.5, scale: 0.3, shadow: 0 },
  car: { draw: drawCar, at: 0.92, scale: 0.42, shadow: 1.02 },
  boat: { draw: drawBoat, at: 0.8, scale: 0.24, shadow: 0 },
  rocket: { draw: drawRocket, at: 0.74, scale: 0.26, shadow: 0 },
  balloon: { draw: drawBalloon, at: 0.62, scale: 0.22, shadow: 0 },
  bottle: { draw: drawBottle, at: 0.84, scale: 0.3, shadow: 1.1 },
  cup: { draw: drawCup, at: 0.82, scale: 0.27, shadow: 0.9 },
  house: { draw: drawHouse, at: 0.88, scale: 0.26, shadow: 0.82 },
  flower: { draw: drawFlower, at: 0.92, scale: 0.34, shadow: 0 },
};

/** The main thing of the picture, in the middle. */
export function drawSubject(context: Context, size: Size, brief: Brief): void {
  if (brief.subject === null) return;
  if (brief.subject === "face") {
    drawFace(context, size, brief);
    return;
  }
  const placement = PLACEMENTS[brief.subject];
  const half = Math.min(size.width, size.height) * placement.scale;
  context.save();
  context.translate(size.width / 2, size.height * placement.at - half);
  context.scale(half, half);
  if (placement.shadow > 0) oval(context, 0, 1, placement.shadow, 0.075, alpha(darker(brief.palette.near, 0.4), 0.28));
  placement.draw(context, brief);
  context.restore();
}
