import { type Canvas, createCanvas } from "@napi-rs/canvas";
import type { Brief, Subject } from "../draw/brief.ts";
import type { Context, Surface } from "../draw/brush.ts";
import { drawSubject, OVERSCAN } from "../draw/figures.ts";
import { airOf, drawBackdrop } from "../draw/scene.ts";
import { pick, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";

/** What the camera shows. `x` and `y` shift the view by fractions of the frame, and a larger `scale` zooms in. */
export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export const STILL: View = { scale: 1, x: 0, y: 0 };

type Move = "in" | "out" | "left" | "right" | "up" | "down" | "orbit" | "shake" | "still";

const MOVES: readonly (readonly [Move, RegExp])[] = [
  ["still", /\b(static|locked[- ]off|fixed camera|no camera|tripod|still camera)\b/],
  ["out", /\b(zoom(s|ing)? out|pull(s|ing)? (back|out|away)|dolly out|reveal(s|ing)?|wide[nr])\b/],
  ["in", /\b(zoom(s|ing)?( in)?|push(es|ing)? in|dolly|close[- ]?up|approach(es|ing)?)\b/],
  ["left", /\b(pan(s|ning)? left|(moves?|slides?|track(s|ing)?) left|leftwards?)\b/],
  [
    "right",
    /\b(pan(s|ning)?|(moves?|slides?) right|tracking|track(s|ing)? (shot|right)|drives?|driving|rightwards?)\b/,
  ],
  ["up", /\b(tilt(s|ing)? up|crane|rise(s)?|rising|ascend(s|ing)?|launch(es|ing)?|takes? off|drone|flies|flying)\b/],
  ["down", /\b(tilt(s|ing)? down|descend(s|ing)?|falls?|falling|sinks?)\b/],
  ["orbit", /\b(orbit(s|ing)?|rotat(e|es|ing)|spin(s|ning)?|turn(s|ing)?|circl(e|es|ing)|around)\b/],
  ["shake", /\b(handheld|hand-held|shak(y|es|ing)|run(s|ning)?|chase|action|walk(s|ing)?)\b/],
];

/** Returns the camera movement for a prompt. `progress` rises from 0 to 1 during the shot. */
export function cameraFor(prompt: string, seed: number): (progress: number) => View {
  const words = prompt.toLowerCase();
  const chance = pick<Move>(randomFrom("camera", prompt, seed), ["in", "in", "right", "left", "up"]);
  const move = MOVES.find(([, pattern]) => pattern.test(words))?.[0] ?? chance;
  return (progress) => VIEWS[move](ease(progress), progress);
}

/** Camera movements. `t` rises from 0 to 1 with easing, and `raw` rises linearly. */
const VIEWS: Readonly<Record<Move, (t: number, raw: number) => View>> = {
  still: (t) => ({ scale: 1 + 0.012 * t, x: 0, y: 0 }),
  in: (t) => ({ scale: 1 + 0.26 * t, x: 0, y: -0.015 * t }),
  out: (t) => ({ scale: 1 - 0.17 * t, x: 0, y: 0 }),
  left: (t) => ({ scale: 1 + 0.05 * t, x: -0.13 * t, y: 0 }),
  right: (t) => ({ scale: 1 + 0.05 * t, x: 0.13 * t, y: 0 }),
  up: (t) => ({ scale: 1 + 0.06 * t, x: 0, y: -0.13 * t }),
  down: (t) => ({ scale: 1 + 0.06 * t, x: 0, y: 0.13 * t }),
  orbit: (t, raw) => ({
    scale: 1 + 0.12 * t,
    x: 0.08 * Math.sin(raw * Math.PI * 2) * t,
    y: 0.02 * Math.sin(raw * Math.PI),
  }),
  shake: (t, raw) => ({ scale: 1 + 0.1 * t, x: 0.012 * Math.sin(raw * 23) * t, y: 0.014 * Math.sin(raw * 31) * t }),
};

export function ease(t: number): number {
  return t * t * (3 - 2 * t);
}

export interface Layer {
  readonly canvas: Canvas;
  readonly left: number;
  readonly top: number;
  readonly size: Size;
}

/** Surrounds an image with mirror images of itself, so that a moving camera never shows an edge. */
export function mirroredLayer(picture: Canvas): Layer {
  const { width, height } = picture;
  const { mx, my, canvas, context } = roomyCanvas({ width, height });
  for (const column of [-1, 1, 0]) {
    for (const row of [-1, 1, 0]) {
      const [flipX, flipY] = [column === 0 ? 1 : -1, row === 0 ? 1 : -1];
      context.setTransform(flipX, 0, 0, flipY, mx + (column > 0 ? 2 * width : 0), my + (row > 0 ? 2 * height : 0));
      context.drawImage(picture, 0, 0);
    }
  }
  return { canvas, left: -mx, top: -my, size: { width, height } };
}

export function croppedLayer(size: Size, draw: (context: Context) => void): Layer | null {
  const { mx, my, canvas, context } = roomyCanvas(size);
  context.translate(mx, my);
  draw(context);
  const box = paintedBox(canvas.data(), canvas.width, canvas.height);
  if (box === null) return null;
  const cut = createCanvas(box.width, box.height);
  cut.getContext("2d").drawImage(canvas, -box.left, -box.top);
  return { canvas: cut, left: box.left - mx, top: box.top - my, size };
}

/** Draws a layer as the camera shows it. With a `depth` below 1, the layer moves less, like distant objects. */
export function drawLayer(context: Context, { canvas, left, top, size }: Layer, view: View, depth = 1): void {
  const scale = 1 + (view.scale - 1) * depth;
  const x = size.width * (0.5 - (0.5 + clamp(view.x * depth, scale)) * scale);
  const y = size.height * (0.5 - (0.5 + clamp(view.y * depth, scale)) * scale);
  context.setTransform(scale, 0, 0, scale, x, y);
  context.drawImage(canvas, left, top);
  context.resetTransform();
}

function clamp(offset: number, scale: number): number {
  const slack = Math.max(0, 0.5 + OVERSCAN - 0.5 / scale);
  return Math.max(-slack, Math.min(slack, offset));
}

function roomyCanvas({ width, height }: Size) {
  const [mx, my] = [Math.round(width * OVERSCAN), Math.round(height * OVERSCAN)];
  const canvas = createCanvas(width + 2 * mx, height + 2 * my);
  return { mx, my, canvas, context: canvas.getContext("2d") };
}

function paintedBox(rgba: Uint8Array, width: number, height: number) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (rgba[(y * width + x) * 4 + 3] === 0) continue;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      bottom = y;
    }
  }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
}

export type Shot = (context: Context, progress: number) => void;

export interface ShotOptions {
  readonly size: Size;
  readonly brief: Brief;
  readonly seed: number;
  readonly seconds: number;
  /** The exact first frame, or null to draw the shot from the prompt. */
  readonly start: Surface | null;
  /** The start frame without its caption, faded in at the beginning of the shot. Null if there is no caption. */
  readonly bare: Surface | null;
  readonly end: Surface | null;
}

const TRAVELLERS: ReadonlySet<Subject> = new Set(["car", "boat", "rocket", "balloon", "bird"]);

interface Plane {
  readonly layer: Layer;
  readonly depth: number;
  readonly leads: boolean;
}

const BARE_AFTER_S = 0.8;

const DISSOLVE_FROM = 0.3;

export function createShot(options: ShotOptions): Shot {
  const { size, brief, seed, seconds, start, bare, end } = options;
  const camera = cameraFor(brief.prompt, seed);
  const layers = start === null ? drawnLayers(size, brief) : [{ layer: mirroredLayer(start), depth: 1, leads: false }];
  const bareLayer = bare === null ? null : mirroredLayer(bare);
  const arrival = end === null ? null : mirroredLayer(end);
  const air = airOf(size, brief);
  return (context, progress) => {
    const view = camera(progress);
    const bareness = bareLayer === null ? 0 : ease(Math.min(1, (progress * seconds) / BARE_AFTER_S));
    if (bareness < 1)
      for (const { layer, depth, leads } of layers) drawLayer(context, layer, leads ? ahead(view) : view, depth);
    if (bareLayer !== null) {
      context.globalAlpha = bareness;
      drawLayer(context, bareLayer, view);
      context.globalAlpha = 1;
    }
    if (arrival !== null) drawArrival(context, arrival, progress);
    const strength = fade(progress, start !== null, end !== null);
    air(context, progress * seconds, strength);
  };
}

const ahead = ({ scale, x, y }: View): View => ({ scale, x: -0.7 * x, y: -0.7 * y });

function drawArrival(context: Context, layer: Layer, progress: number): void {
  const t = ease(Math.max(0, (progress - DISSOLVE_FROM) / (1 - DISSOLVE_FROM)));
  if (t <= 0) return;
  const view: View = t >= 1 ? STILL : { scale: 1 + 0.1 * (1 - t), x: 0, y: 0 };
  context.globalAlpha = t;
  drawLayer(context, layer, view);
  context.globalAlpha = 1;
}

/** Draws the background and the subject. The subject has its own layer, because it moves more than the background. */
function drawnLayers(size: Size, brief: Brief): readonly Plane[] {
  const back = createCanvas(size.width, size.height);
  drawBackdrop(back.getContext("2d"), size, brief);
  const front = croppedLayer(size, (context) => drawSubject(context, size, brief));
  if (front === null) return [{ layer: mirroredLayer(back), depth: 1, leads: false }];
  return [
    { layer: mirroredLayer(back), depth: 0.55, leads: false },
    { layer: front, depth: 1, leads: brief.subject !== null && TRAVELLERS.has(brief.subject) },
  ];
}

function fade(progress: number, atStart: boolean, atEnd: boolean): number {
  const rise = atStart ? Math.min(1, progress / 0.15) : 1;
  const fall = atEnd ? Math.min(1, (1 - progress) / 0.15) : 1;
  return Math.min(rise, fall);
}
