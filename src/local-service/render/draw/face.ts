import { Path2D } from "@napi-rs/canvas";
import { pick, type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief } from "./brief.ts";
import { alpha, type Color, type Context, darker, disc, fillPath, lighter, mix, oval, strokePath } from "./brush.ts";

/** Positions of the parts of a drawn face, in pixels. */
export interface FaceGeometry {
  readonly x: number;
  readonly y: number;
  /** Half the width of the head; it is 1.28 times as tall. */
  readonly radius: number;
  readonly mouth: { readonly x: number; readonly y: number; readonly halfWidth: number };
  readonly eyes: { readonly y: number; readonly apart: number; readonly radius: number };
}

/** In half widths of the head, from its middle. */
const MOUTH = { y: 0.68, halfWidth: 0.34 };
const EYES = { y: -0.06, apart: 0.42, radius: 0.13 };

/** A drawn face always has this position in a frame of this size, so that an avatar finds its mouth again. */
export function faceGeometry({ width, height }: Size): FaceGeometry {
  const radius = Math.min(width * 0.27, height * 0.2);
  const x = width / 2;
  const y = height * 0.42;
  return {
    x,
    y,
    radius,
    mouth: { x, y: y + radius * MOUTH.y, halfWidth: radius * MOUTH.halfWidth },
    eyes: { y: y + radius * EYES.y, apart: radius * EYES.apart, radius: radius * EYES.radius },
  };
}

type HairStyle = "short" | "long" | "bob" | "bun" | "curly" | "bald";

interface Person {
  readonly skin: Color;
  readonly hair: Color;
  readonly style: HairStyle;
  readonly eyes: Color;
  readonly clothes: Color;
  readonly glasses: boolean;
  readonly beard: boolean;
}

/** A head and shoulders, looking at the camera, with a closed smiling mouth. */
export function drawFace(context: Context, size: Size, brief: Brief): void {
  const { x, y, radius } = faceGeometry(size);
  const person = personOf(brief, randomFrom(brief.key, "face"));
  context.save();
  context.translate(x, y);
  context.scale(radius, radius);
  drawHairBack(context, person);
  drawShoulders(context, person, (size.height - y) / radius + 1);
  drawHead(context, person);
  drawEyes(context, person);
  drawMouth(context, person.skin);
  drawHairFront(context, person);
  if (person.glasses) drawGlasses(context, brief.palette.near);
  context.restore();
}

function personOf({ prompt, palette, tint }: Brief, random: Random): Person {
  const words = prompt.toLowerCase();
  const said = (pattern: RegExp) => pattern.test(words);
  const man = said(/\b(man|men|guy|boy|gentleman|male|father|king|actor|beard(ed)?)\b/);
  const woman = said(/\b(wom[ae]n|girl|lady|female|mother|queen|actress)\b/);
  const skin = pick(random, ["#f7d3b5", "#eebd95", "#dba373", "#b97c50", "#8a5733", "#68402a"]);
  const natural = pick(random, ["#2a1d1a", "#4a2f22", "#6e4527", "#201c24", "#8d5a2b"]);
  const named: readonly (readonly [RegExp, Color])[] = [
    [/\b(blond[e]?|fair)\b/, "#dfb25c"],
    [/\b(redhead|ginger|red hair)\b/, "#b4552d"],
    [/\b(old|elderly|senior|gr[ae]y|grandm\w*|grandf\w*|silver)\b/, "#c9c9cf"],
    [/\b(black hair|dark hair)\b/, "#201c24"],
  ];
  const usual = (): HairStyle => {
    if (man) return pick<HairStyle>(random, ["short", "short", "curly"]);
    return pick<HairStyle>(random, woman ? ["long", "bob", "bun"] : ["short", "long", "bob", "curly", "bun"]);
  };
  return {
    skin,
    hair: named.find(([pattern]) => said(pattern))?.[1] ?? natural,
    style: said(/\bbald\b/) ? "bald" : said(/\bcurl(s|y)\b/) ? "curly" : said(/\bbun\b/) ? "bun" : usual(),
    eyes: pick(random, ["#4a3425", "#3c5a6e", "#4f6b45", "#2d2622"]),
    clothes: mix(tint, palette.near, 0.15),
    glasses: said(/\b(glasses|spectacles|professor|librarian)\b/) || random() < 0.12,
    beard: said(/\bbeard(ed)?\b/) || (man && random() < 0.3),
  };
}

/** The hair behind head and shoulders. */
function drawHairBack(context: Context, { style, hair }: Person): void {
  const shade = darker(hair, 0.22);
  if (style === "bun") disc(context, 0, -1.55, 0.42, hair);
  if (style === "curly") {
    for (let i = 0; i <= 12; i++) {
      const angle = Math.PI * (0.92 + (i / 12) * 1.16);
      disc(context, Math.cos(angle) * 1.05, -0.2 + Math.sin(angle) * 1.12, 0.38, shade);
    }
  }
  if (style !== "long" && style !== "bob") return;
  const low = style === "long" ? 2.1 : 0.95;
  const sides = "C-1.35 .3-1.35-1.5 0-1.52C1.35-1.5 1.35 .3 1.12";
  fillPath(context, shade, `M-1.12 ${low}${sides} ${low}Q0 ${low - 0.3}-1.12 ${low}`);
}

/** The hair over the forehead. */
function drawHairFront(context: Context, { style, hair }: Person): void {
  if (style === "bald") return;
  if (style === "curly") {
    for (let i = 0; i <= 8; i++) {
      const angle = Math.PI * (1.06 + (i / 8) * 0.88);
      const [x, y] = [Math.cos(angle) * 0.88, -0.28 + Math.sin(angle) * 0.92];
      disc(context, x, y, 0.3, i % 2 ? hair : lighter(hair, 0.06));
    }
    return;
  }
  const low = style === "short" ? -0.15 : 0.1;
  const crown = `M-1.05 ${low}C-1.2-1.2-.7-1.5 0-1.5C.75-1.5 1.2-1.15 1.05 ${low}`;
  const fringe = `C.95-.45 .85-.68 .62-.82C.1-.78-.35-.72-.72-.74C-.92-.6-.97-.3-1.05 ${low}`;
  fillPath(context, hair, crown + fringe);
  oval(context, -0.25, -1.22, 0.5, 0.07, alpha(lighter(hair, 0.4), 0.35), -0.12);
}

/** The shoulders reach down to `low`, below the frame. */
function drawShoulders(context: Context, { skin, clothes }: Person, low: number): void {
  const body = context.createLinearGradient(0, 1.5, 0, 3.9);
  body.addColorStop(0, lighter(clothes, 0.1));
  body.addColorStop(1, darker(clothes, 0.25));
  const left = `M-.5 1.5C-1.3 1.78-1.85 1.95-2.05 3.1L-2.2 ${low}`;
  fillPath(context, body, `${left}L2.2 ${low}L2.05 3.1C1.85 1.95 1.3 1.78 .5 1.5Z`);
  const neck = "M-.36 .7L-.38 1.5Q-.5 1.62-.62 1.62Q0 2.35 .62 1.62Q.5 1.62 .38 1.5L.36 .7Z";
  fillPath(context, darker(skin, 0.16), neck);
}

/** A round crown that narrows to the chin. */
const HEAD = "M-1-.15C-1-1.15-.6-1.28 0-1.28C.6-1.28 1-1.15 1-.15C1 .6 .55 1.28 0 1.28C-.55 1.28-1 .6-1-.15Z";
const BEARD = "M-1.1 .15Q-.75 .6-.42 .52Q0 .38 .42 .52Q.75 .6 1.1 .15L1.1 1.4L-1.1 1.4Z";

function drawHead(context: Context, { skin, hair, beard }: Person): void {
  for (const side of [-1, 1]) {
    oval(context, side, 0.08, 0.16, 0.26, darker(skin, 0.08));
    oval(context, side * 1.01, 0.09, 0.08, 0.15, darker(skin, 0.2));
  }
  fillPath(context, skin, HEAD);
  context.save();
  context.clip(new Path2D(HEAD));
  oval(context, 1.06, 0.1, 0.5, 1.5, alpha(darker(skin, 0.4), 0.13));
  if (beard) fillPath(context, hair, BEARD);
  context.restore();
  for (const side of [-1, 1]) disc(context, side * 0.56, 0.4, 0.17, alpha("#e8604c", 0.16));
  context.lineCap = "round";
  strokePath(context, darker(skin, 0.25), 0.045, "M.03 .04Q.15 .3 .09 .34Q.02 .38-.07 .35");
}

function drawEyes(context: Context, { eyes: iris, hair, skin }: Person): void {
  const { y } = EYES;
  for (const side of [-1, 1]) {
    const x = side * EYES.apart;
    oval(context, x, y, 0.175, 0.115, "#fdfbf8");
    disc(context, x, y, 0.1, iris);
    disc(context, x, y, 0.052, "#17120f");
    disc(context, x + 0.035, y - 0.035, 0.026, "#ffffff");
    context.strokeStyle = darker(mix(skin, hair, 0.5), 0.35);
    context.lineWidth = 0.045;
    context.beginPath();
    context.ellipse(x, y + 0.01, 0.185, 0.13, 0, Math.PI * 1.06, Math.PI * 1.94);
    context.stroke();
    const [inner, middle, outer] = [x - side * 0.2, x + side * 0.04, x + side * 0.24];
    const brow = `M${inner}-.33Q${middle}-.44 ${outer}-.31`;
    strokePath(context, mix(hair, darker(skin, 0.5), 0.35), 0.07, brow);
  }
}

function drawMouth(context: Context, skin: Color): void {
  const lips = mix(darker(skin, 0.18), "#c2364a", 0.55);
  context.save();
  context.translate(0, MOUTH.y);
  context.scale(MOUTH.halfWidth, MOUTH.halfWidth);
  const upper = "M-1-.2Q-.5-.12-.18-.1Q0-.02 .18-.1Q.5-.12 1-.2";
  fillPath(context, lips, `${upper}C.55 .56-.55 .56-1-.2`);
  strokePath(context, darker(lips, 0.45), 0.075, "M-1.04-.24Q0 .4 1.04-.24");
  oval(context, 0, 0.25, 0.26, 0.04, alpha("#ffffff", 0.22));
  context.restore();
}

function drawGlasses(context: Context, color: Color): void {
  context.strokeStyle = color;
  context.lineWidth = 0.05;
  context.beginPath();
  for (const side of [-1, 1]) {
    context.roundRect(side * EYES.apart - 0.29, EYES.y - 0.22, 0.58, 0.46, 0.18);
    context.moveTo(side * (EYES.apart + 0.29), EYES.y);
    context.lineTo(side, EYES.y - 0.04);
  }
  context.moveTo(-0.13, EYES.y - 0.04);
  context.lineTo(0.13, EYES.y - 0.04);
  context.stroke();
}
