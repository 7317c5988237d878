import { type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief, Setting } from "./brief.ts";
import type { Context } from "./brush.ts";
import { drawCity, drawSpace, drawStudio } from "./built.ts";
import { drawDesert, drawForest, drawHills, drawMountains, drawSea } from "./nature.ts";

type Drawer = (context: Context, size: Size, brief: Brief, random: Random) => void;

const DRAWERS: Readonly<Record<Setting, Drawer>> = {
  mountain: drawMountains,
  sea: drawSea,
  city: drawCity,
  forest: drawForest,
  desert: drawDesert,
  hills: drawHills,
  studio: drawStudio,
  space: drawSpace,
};

/** The place of the picture, in front of the sky. */
export function drawSetting(context: Context, size: Size, brief: Brief): void {
  DRAWERS[brief.setting](context, size, brief, randomFrom(brief.key, "setting"));
}
