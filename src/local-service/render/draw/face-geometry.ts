import type { Size } from "../size.ts";

/** Positions of the parts of a drawn face, in pixels. */
export interface FaceGeometry {
  readonly x: number;
  readonly y: number;
  /** Half the width of the head; it is 1.28 times as tall. */
  readonly radius: number;
  readonly mouth: { readonly x: number; readonly y: number; readonly halfWidth: number };
  readonly eyes: { readonly y: number; readonly apart: number; readonly radius: number };
}

/** A drawn face always has this position in a frame of this size, so that an avatar finds its mouth again. */
export function faceGeometry({ width, height }: Size): FaceGeometry {
  const radius = Math.min(width * 0.27, height * 0.2);
  const x = width / 2;
  const y = height * 0.42;
  return {
    x,
    y,
    radius,
    mouth: { x, y: y + radius * 0.68, halfWidth: radius * 0.34 },
    eyes: { y: y - radius * 0.06, apart: radius * 0.42, radius: radius * 0.13 },
  };
}
