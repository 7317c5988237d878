import { createCanvas } from "@napi-rs/canvas";
import type { Brief, Subject, Weather } from "../draw/brief.ts";
import { alpha, type Context, disc, type Surface } from "../draw/brush.ts";
import { drawAir, drawBackdrop } from "../draw/scene.ts";
import { drawSubject } from "../draw/subjects.ts";
import { between, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import { cameraFor, croppedLayer, drawLayer, ease, type Layer, mirroredLayer, STILL, type View } from "./layer.ts";

interface Particle {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly speed: number;
  readonly phase: number;
}

/** What moves in the air of a shot. `strength` fades it in and out, so that given frames stay untouched. */
export type Air = (context: Context, seconds: number, strength: number) => void;

const COUNTS: Readonly<Record<Weather, number>> = { clear: 16, fog: 10, rain: 110, snow: 90, sparks: 50 };

/** Rain, snow, sparks or slow motes of light, as the words of the shot ask for. */
export function airOf(size: Size, brief: Brief): Air {
  const random = randomFrom(brief.key, "particles");
  const particles = Array.from(
    { length: COUNTS[brief.weather] },
    (): Particle => ({
      x: random(),
      y: random(),
      size: between(random, 0.4, 1),
      speed: between(random, 0.6, 1.3),
      phase: random() * Math.PI * 2,
    }),
  );
  const unit = Math.min(size.width, size.height);
  return (context, seconds, strength) => {
    if (strength <= 0.01) return;
    if (brief.weather === "rain") drawRain(context, size, unit, particles, seconds, strength);
    else drawMotes(context, size, unit, particles, seconds, strength, brief);
  };
}

function drawRain(
  context: Context,
  { width, height }: Size,
  unit: number,
  particles: readonly Particle[],
  seconds: number,
  strength: number,
): void {
  context.strokeStyle = `rgba(235, 242, 255, ${(0.4 * strength).toFixed(3)})`;
  context.lineWidth = Math.max(1, unit * 0.0018);
  context.beginPath();
  for (const { x, y, size, speed } of particles) {
    const length = unit * 0.05 * size;
    const top = ((y + seconds * speed * 1.7) % 1.1) * height - length;
    const left = ((x - seconds * 0.08 + 2) % 1) * width;
    context.moveTo(left, top);
    context.lineTo(left - length * 0.18, top + length);
  }
  context.stroke();
}

function drawMotes(
  context: Context,
  { width, height }: Size,
  unit: number,
  particles: readonly Particle[],
  seconds: number,
  strength: number,
  { weather, palette }: Brief,
): void {
  const snow = weather === "snow";
  const fall = snow ? 0.12 : weather === "sparks" ? -0.14 : -0.02;
  const color = weather === "sparks" ? palette.accent : snow ? "#ffffff" : palette.light;
  for (const { x, y, size, speed, phase } of particles) {
    const left = x + 0.02 * Math.sin(seconds * speed + phase);
    const top = (((y + seconds * speed * fall) % 1) + 1) % 1;
    const twinkle = snow ? 0.85 : 0.35 + 0.35 * Math.sin(seconds * 2 * speed + phase);
    disc(context, left * width, top * height, unit * size * (snow ? 0.0065 : 0.0055), alpha(color, twinkle * strength));
  }
}

/** Draws the frame of a shot at a progress from 0 (its first frame) to 1 (its last). */
export type Shot = (context: Context, progress: number) => void;

export interface ShotOptions {
  readonly size: Size;
  readonly brief: Brief;
  readonly seed: number;
  readonly seconds: number;
  /** The exact first frame; without it the shot is drawn from its words. */
  readonly start: Surface | null;
  /** The exact last frame. */
  readonly end: Surface | null;
}

/** What moves by itself: it runs ahead of the camera instead of staying behind. */
const TRAVELLERS: ReadonlySet<Subject> = new Set(["car", "boat", "rocket", "balloon", "bird"]);

interface Plane {
  readonly layer: Layer;
  readonly depth: number;
  readonly leads: boolean;
}

/** Where the dissolve into the end frame lies within the shot. */
const DISSOLVE_FROM = 0.3;

export function createShot(options: ShotOptions): Shot {
  const { size, brief, seed, seconds, start, end } = options;
  const camera = cameraFor(brief.prompt, seed);
  const layers = start === null ? drawnLayers(size, brief) : [{ layer: mirroredLayer(start), depth: 1, leads: false }];
  const arrival = end === null ? null : mirroredLayer(end);
  const air = airOf(size, brief);
  return (context, progress) => {
    const view = camera(progress);
    for (const { layer, depth, leads } of layers) drawLayer(context, layer, leads ? ahead(view) : view, depth);
    if (arrival !== null) drawArrival(context, arrival, progress);
    const strength = fade(progress, start !== null, end !== null);
    air(context, progress * seconds, strength);
  };
}

const ahead = ({ scale, x, y }: View): View => ({ scale, x: -0.7 * x, y: -0.7 * y });

/** The end frame comes in slightly enlarged and comes to rest while it dissolves in. */
function drawArrival(context: Context, layer: Layer, progress: number): void {
  const t = ease(Math.max(0, (progress - DISSOLVE_FROM) / (1 - DISSOLVE_FROM)));
  if (t <= 0) return;
  const view: View = t >= 1 ? STILL : { scale: 1 + 0.1 * (1 - t), x: 0, y: 0 };
  context.globalAlpha = t;
  drawLayer(context, layer, view);
  context.globalAlpha = 1;
}

/** Place and subject apart, so that the subject moves more than what lies behind it. */
function drawnLayers(size: Size, brief: Brief): readonly Plane[] {
  const back = createCanvas(size.width, size.height);
  drawBackdrop(back.getContext("2d"), size, brief);
  drawAir(back.getContext("2d"), size, { ...brief, weather: brief.weather === "fog" ? "fog" : "clear" });
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
