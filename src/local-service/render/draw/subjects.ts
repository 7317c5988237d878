import type { Size } from "../size.ts";
import { drawCat, drawDog, drawRobot } from "./animals.ts";
import type { Brief, Subject } from "./brief.ts";
import { type Context, oval } from "./brush.ts";
import { alpha, darker } from "./color.ts";
import { drawFace } from "./face.ts";
import { drawBottle, drawCup, drawFlower, drawHouse } from "./things.ts";
import { drawBalloon, drawBirds, drawBoat, drawCar, drawRocket } from "./vehicles.ts";

/** Draws around the origin within a box two units wide; y points down, the ground is at y = 1. */
export type Drawer = (context: Context, brief: Brief) => void;

interface Placing {
  readonly draw: Drawer;
  /** Height of the ground (or of the middle, for what flies) as a part of the frame. */
  readonly at: number;
  /** Half the width as a part of the shorter side. */
  readonly scale: number;
  /** Half the width of its shadow on the ground; 0 for what flies or floats. */
  readonly shadow: number;
}

const PLACES: Readonly<Record<Exclude<Subject, "face">, Placing>> = {
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
  const place = PLACES[brief.subject];
  const half = Math.min(size.width, size.height) * place.scale;
  context.save();
  context.translate(size.width / 2, size.height * place.at - half);
  context.scale(half, half);
  if (place.shadow > 0) oval(context, 0, 1, place.shadow, 0.075, alpha(darker(brief.palette.near, 0.4), 0.28));
  place.draw(context, brief);
  context.restore();
}
