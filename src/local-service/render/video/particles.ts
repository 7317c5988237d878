import type { Brief, Weather } from "../draw/brief.ts";
import { type Context, disc } from "../draw/brush.ts";
import { alpha } from "../draw/color.ts";
import { between, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";

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
