import type { Size } from "../size.ts";
import { drawCat, drawDog, drawRobot } from "./animals.ts";
import type { Brief, Subject } from "./brief.ts";
import { type Context, oval } from "./brush.ts";
import { alpha, darker } from "./color.ts";
import { drawFace } from "./face.ts";
import {
  drawBalloon,
  drawBirds,
  drawBoat,
  drawBottle,
  drawCar,
  drawCup,
  drawFlower,
  drawHouse,
  drawRocket,
} from "./things.ts";

/** Draws around the origin within a box two units wide; y points down, the ground is at y = 1. */
export type Drawer = (context: Context, brief: Brief) => void;

interface Placing {
  readonly draw: Drawer;
  /** Height of the ground (or of the middle, for what flies) as a part of the frame. */
  readonly at: number;
  /** Half the width as a part of the shorter side. */
  readonly scale: number;
  readonly shadow: boolean;
}

const PLACES: Readonly<Record<Exclude<Subject, "face">, Placing>> = {
  cat: { draw: drawCat, at: 0.84, scale: 0.29, shadow: true },
  dog: { draw: drawDog, at: 0.84, scale: 0.29, shadow: true },
  robot: { draw: drawRobot, at: 0.84, scale: 0.28, shadow: true },
  bird: { draw: drawBirds, at: 0.5, scale: 0.3, shadow: false },
  car: { draw: drawCar, at: 0.9, scale: 0.34, shadow: true },
  boat: { draw: drawBoat, at: 0.8, scale: 0.24, shadow: false },
  rocket: { draw: drawRocket, at: 0.74, scale: 0.26, shadow: false },
  balloon: { draw: drawBalloon, at: 0.62, scale: 0.22, shadow: false },
  bottle: { draw: drawBottle, at: 0.84, scale: 0.3, shadow: true },
  cup: { draw: drawCup, at: 0.82, scale: 0.27, shadow: true },
  house: { draw: drawHouse, at: 0.86, scale: 0.24, shadow: true },
  flower: { draw: drawFlower, at: 0.92, scale: 0.34, shadow: false },
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
  if (place.shadow) oval(context, 0, 1, 0.95, 0.09, alpha(darker(brief.palette.near, 0.4), 0.28));
  place.draw(context, brief);
  context.restore();
}
