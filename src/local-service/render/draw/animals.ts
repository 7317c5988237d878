import { pick, randomFrom } from "../random.ts";
import type { Brief } from "./brief.ts";
import {
  alpha,
  type Color,
  type Context,
  darker,
  disc,
  fillPath,
  lighter,
  mix,
  oval,
  shape,
  slab,
  strokePath,
} from "./brush.ts";

function fur(brief: Brief, choices: readonly [Color, ...Color[]]): Color {
  return brief.tint === brief.palette.accent ? pick(randomFrom(brief.key, "fur"), choices) : brief.tint;
}

function eyesAndNose(context: Context, y: number, apart: number, nose: Color): void {
  for (const side of [-1, 1]) {
    oval(context, side * apart, y, 0.075, 0.09, "#221a17");
    disc(context, side * apart + 0.025, y - 0.03, 0.024, "#ffffff");
  }
  shape(context, nose, [
    [-0.055, y + 0.16],
    [0.055, y + 0.16],
    [0, y + 0.22],
  ]);
}

function smile(context: Context, y: number, color: Color): void {
  context.strokeStyle = color;
  context.lineWidth = 0.022;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(-0.12, y + 0.01);
  context.quadraticCurveTo(-0.06, y + 0.08, 0, y);
  context.quadraticCurveTo(0.06, y + 0.08, 0.12, y + 0.01);
  context.stroke();
}

/** A sitting cat. */
export function drawCat(context: Context, brief: Brief): void {
  const coat = fur(brief, ["#e39a4f", "#6d6a75", "#3a3540", "#d8b48a"]);
  const dark = darker(coat, 0.2);
  context.lineCap = "round";
  strokePath(context, dark, 0.15, "M.4 .9C1.05 .95 .9 .35 .75 .2");
  fillPath(context, coat, "M-.5 .98C-.62 .4-.35 .05 0 .05C.35 .05 .62 .4 .5 .98Z");
  oval(context, 0, 0.62, 0.24, 0.34, lighter(coat, 0.45));
  for (const side of [-1, 1]) {
    oval(context, side * 0.2, 0.94, 0.15, 0.075, lighter(coat, 0.2));
    shape(context, coat, [
      [side * 0.5, -0.3],
      [side * 0.46, -0.88],
      [side * 0.08, -0.6],
    ]);
    shape(context, mix(coat, "#f2a1a0", 0.6), [
      [side * 0.42, -0.42],
      [side * 0.41, -0.74],
      [side * 0.19, -0.57],
    ]);
  }
  oval(context, 0, -0.24, 0.52, 0.44, coat);
  for (const x of [-0.12, 0, 0.12]) oval(context, x, -0.56, 0.03, 0.1, dark);
  oval(context, 0, -0.08, 0.24, 0.17, lighter(coat, 0.5));
  eyesAndNose(context, -0.26, 0.21, "#d9707a");
  smile(context, -0.02, darker(coat, 0.5));
  context.strokeStyle = alpha(lighter(coat, 0.75), 0.9);
  context.lineWidth = 0.012;
  context.beginPath();
  for (const side of [-1, 1]) {
    for (const dy of [-0.05, 0, 0.05]) {
      context.moveTo(side * 0.22, -0.06 + dy * 0.6);
      context.lineTo(side * 0.66, -0.1 + dy * 2);
    }
  }
  context.stroke();
}

/** A sitting dog with hanging ears. */
export function drawDog(context: Context, brief: Brief): void {
  const coat = fur(brief, ["#c98d54", "#8a5a3c", "#e0c08f", "#5b4a44"]);
  const dark = darker(coat, 0.25);
  fillPath(context, coat, "M-.52 .98C-.66 .35-.36 .02 0 .02C.36 .02 .66 .35 .52 .98Z");
  oval(context, 0, 0.58, 0.27, 0.38, lighter(coat, 0.5));
  for (const side of [-1, 1]) oval(context, side * 0.24, 0.93, 0.18, 0.085, lighter(coat, 0.2));
  slab(context, -0.33, 0.1, 0.66, 0.11, 0.05, brief.palette.accent === coat ? "#2f6fc4" : brief.palette.accent);
  disc(context, 0, 0.25, 0.075, "#f2c230");
  oval(context, 0, -0.28, 0.5, 0.47, coat);
  for (const side of [-1, 1]) oval(context, side * 0.5, -0.26, 0.16, 0.38, dark, side * -0.22);
  oval(context, 0.2, -0.4, 0.16, 0.19, lighter(coat, 0.4), 0.3);
  oval(context, 0, -0.1, 0.27, 0.22, lighter(coat, 0.55));
  for (const side of [-1, 1]) {
    disc(context, side * 0.19, -0.38, 0.072, "#221a17");
    disc(context, side * 0.19 + 0.025, -0.405, 0.022, "#ffffff");
  }
  oval(context, 0, -0.2, 0.1, 0.07, "#2a211f");
  oval(context, 0, 0.045, 0.075, 0.1, "#e8707a");
  smile(context, -0.06, darker(coat, 0.55));
}

/** A friendly robot. */
export function drawRobot(context: Context, brief: Brief): void {
  const shell = mix("#e9edf2", brief.tint, 0.12);
  const dark = brief.palette.near;
  slab(context, -0.42, 0.2, 0.84, 0.62, 0.18, shell);
  slab(context, -0.22, 0.34, 0.44, 0.26, 0.06, mix(dark, shell, 0.1));
  for (const i of [0, 1, 2]) slab(context, -0.15 + i * 0.11, 0.52 - i * 0.05, 0.07, 0.05 + i * 0.05, 0.01, brief.tint);
  for (const side of [-1, 1]) {
    slab(context, side * 0.57 - 0.09, 0.26, 0.18, 0.46, 0.09, mix(shell, dark, 0.25));
    slab(context, side * 0.22 - 0.1, 0.8, 0.2, 0.18, 0.06, mix(shell, dark, 0.35));
  }
  slab(context, -0.1, 0.08, 0.2, 0.14, 0.03, mix(shell, dark, 0.4));
  context.fillRect(-0.015, -0.92, 0.03, 0.2);
  disc(context, 0, -0.94, 0.065, brief.tint);
  slab(context, -0.56, -0.74, 1.12, 0.84, 0.28, shell);
  slab(context, -0.44, -0.6, 0.88, 0.54, 0.2, darker(dark, 0.2));
  for (const side of [-1, 1]) {
    oval(context, side * 0.2, -0.36, 0.085, 0.11, lighter(brief.tint, 0.35));
    disc(context, side * 0.2 + 0.03, -0.4, 0.026, "#ffffff");
  }
  context.strokeStyle = lighter(brief.tint, 0.35);
  context.lineWidth = 0.035;
  context.lineCap = "round";
  context.beginPath();
  context.arc(0, -0.24, 0.1, 0.25, Math.PI - 0.25);
  context.stroke();
}
