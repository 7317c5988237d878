import { pick, type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief } from "./brief.ts";
import { type Context, disc, oval } from "./brush.ts";
import { alpha, type Color, darker, lighter, mix } from "./color.ts";
import { type FaceGeometry, faceGeometry } from "./face-geometry.ts";
import { drawHairBack, drawHairFront, type HairStyle } from "./hair.ts";

/** How one person looks. */
interface Look {
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
  const face = faceGeometry(size);
  const look = lookOf(brief, randomFrom(brief.key, "face"));
  drawHairBack(context, face, look.style, look.hair);
  drawShoulders(context, size, face, look);
  drawHead(context, face, look);
  drawEyes(context, face, look);
  drawMouth(context, face, look.skin);
  drawHairFront(context, face, look.style, look.hair);
  if (look.glasses) drawGlasses(context, face, brief.palette.near);
}

function lookOf({ prompt, palette, tint }: Brief, random: Random): Look {
  const words = prompt.toLowerCase();
  const said = (pattern: RegExp) => pattern.test(words);
  const man = said(/\b(man|men|guy|boy|gentleman|male|father|king|actor|beard(ed)?)\b/);
  const woman = said(/\b(wom[ae]n|girl|lady|female|mother|queen|actress)\b/);
  const skin = pick(random, ["#f7d3b5", "#eebd95", "#dba373", "#b97c50", "#8a5733", "#68402a"]);
  const natural = pick(random, ["#2a1d1a", "#4a2f22", "#6e4527", "#201c24", "#8d5a2b"]);
  const hair = said(/\b(blond[e]?|fair)\b/)
    ? "#dfb25c"
    : said(/\b(redhead|ginger|red hair)\b/)
      ? "#b4552d"
      : said(/\b(old|elderly|senior|gr[ae]y|grandm\w*|grandf\w*|silver)\b/)
        ? "#c9c9cf"
        : said(/\b(black hair|dark hair)\b/)
          ? "#201c24"
          : natural;
  const style: HairStyle = said(/\bbald\b/)
    ? "bald"
    : said(/\bcurl(s|y)\b/)
      ? "curly"
      : said(/\b(bun)\b/)
        ? "bun"
        : man
          ? pick<HairStyle>(random, ["short", "short", "curly"])
          : woman
            ? pick<HairStyle>(random, ["long", "bob", "bun"])
            : pick<HairStyle>(random, ["short", "long", "bob", "curly", "bun"]);
  return {
    skin,
    hair,
    style,
    eyes: pick(random, ["#4a3425", "#3c5a6e", "#4f6b45", "#2d2622"]),
    clothes: mix(tint, palette.near, 0.15),
    glasses: said(/\b(glasses|spectacles|professor|librarian)\b/) || random() < 0.12,
    beard: said(/\bbeard(ed)?\b/) || (man && random() < 0.3),
  };
}

function drawShoulders(
  context: Context,
  { height }: Size,
  { x, y, radius: r }: FaceGeometry,
  { skin, clothes }: Look,
): void {
  const top = y + r * 1.5;
  const body = context.createLinearGradient(0, top, 0, top + r * 2.4);
  body.addColorStop(0, lighter(clothes, 0.1));
  body.addColorStop(1, darker(clothes, 0.25));
  context.fillStyle = body;
  context.beginPath();
  context.moveTo(x - r * 0.5, top);
  context.bezierCurveTo(x - r * 1.3, top + r * 0.28, x - r * 1.85, top + r * 0.45, x - r * 2.05, top + r * 1.6);
  context.lineTo(x - r * 2.2, height + r);
  context.lineTo(x + r * 2.2, height + r);
  context.lineTo(x + r * 2.05, top + r * 1.6);
  context.bezierCurveTo(x + r * 1.85, top + r * 0.45, x + r * 1.3, top + r * 0.28, x + r * 0.5, top);
  context.closePath();
  context.fill();
  context.fillStyle = darker(skin, 0.16);
  context.beginPath();
  context.moveTo(x - r * 0.36, y + r * 0.7);
  context.lineTo(x - r * 0.38, top);
  context.quadraticCurveTo(x - r * 0.5, top + r * 0.12, x - r * 0.62, top + r * 0.12);
  context.quadraticCurveTo(x, top + r * 0.85, x + r * 0.62, top + r * 0.12);
  context.quadraticCurveTo(x + r * 0.5, top + r * 0.12, x + r * 0.38, top);
  context.lineTo(x + r * 0.36, y + r * 0.7);
  context.closePath();
  context.fill();
}

/** The outline of the head: a round crown that narrows to the chin. */
export function headPath(context: Context, { x, y, radius: r }: FaceGeometry): void {
  context.beginPath();
  context.moveTo(x - r, y - r * 0.15);
  context.bezierCurveTo(x - r, y - r * 1.15, x - r * 0.6, y - r * 1.28, x, y - r * 1.28);
  context.bezierCurveTo(x + r * 0.6, y - r * 1.28, x + r, y - r * 1.15, x + r, y - r * 0.15);
  context.bezierCurveTo(x + r, y + r * 0.6, x + r * 0.55, y + r * 1.28, x, y + r * 1.28);
  context.bezierCurveTo(x - r * 0.55, y + r * 1.28, x - r, y + r * 0.6, x - r, y - r * 0.15);
  context.closePath();
}

function drawHead(context: Context, face: FaceGeometry, { skin, hair, beard }: Look): void {
  const { x, y, radius: r } = face;
  for (const side of [-1, 1]) {
    oval(context, x + side * r * 1.0, y + r * 0.08, r * 0.16, r * 0.26, darker(skin, 0.08));
    oval(context, x + side * r * 1.01, y + r * 0.09, r * 0.08, r * 0.15, darker(skin, 0.2));
  }
  headPath(context, face);
  context.fillStyle = skin;
  context.fill();
  context.save();
  headPath(context, face);
  context.clip();
  oval(context, x + r * 1.06, y + r * 0.1, r * 0.5, r * 1.5, alpha(darker(skin, 0.4), 0.13));
  if (beard) drawBeard(context, face, hair);
  context.restore();
  for (const side of [-1, 1]) disc(context, x + side * r * 0.56, y + r * 0.4, r * 0.17, alpha("#e8604c", 0.16));
  context.strokeStyle = darker(skin, 0.25);
  context.lineWidth = r * 0.045;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x + r * 0.03, y + r * 0.04);
  context.quadraticCurveTo(x + r * 0.15, y + r * 0.3, x + r * 0.09, y + r * 0.34);
  context.quadraticCurveTo(x + r * 0.02, y + r * 0.38, x - r * 0.07, y + r * 0.35);
  context.stroke();
}

function drawBeard(context: Context, { x, y, radius: r }: FaceGeometry, hair: Color): void {
  context.fillStyle = hair;
  context.beginPath();
  context.moveTo(x - r * 1.1, y + r * 0.15);
  context.quadraticCurveTo(x - r * 0.75, y + r * 0.6, x - r * 0.42, y + r * 0.52);
  context.quadraticCurveTo(x, y + r * 0.38, x + r * 0.42, y + r * 0.52);
  context.quadraticCurveTo(x + r * 0.75, y + r * 0.6, x + r * 1.1, y + r * 0.15);
  context.lineTo(x + r * 1.1, y + r * 1.4);
  context.lineTo(x - r * 1.1, y + r * 1.4);
  context.closePath();
  context.fill();
}

function drawEyes(context: Context, { x, y, radius: r, eyes }: FaceGeometry, { eyes: iris, hair, skin }: Look): void {
  for (const side of [-1, 1]) {
    const ex = x + side * eyes.apart;
    oval(context, ex, eyes.y, r * 0.175, r * 0.115, "#fdfbf8");
    disc(context, ex, eyes.y, r * 0.1, iris);
    disc(context, ex, eyes.y, r * 0.052, "#17120f");
    disc(context, ex + r * 0.035, eyes.y - r * 0.035, r * 0.026, "#ffffff");
    context.strokeStyle = darker(mix(skin, hair, 0.5), 0.35);
    context.lineCap = "round";
    context.lineWidth = r * 0.045;
    context.beginPath();
    context.ellipse(ex, eyes.y + r * 0.01, r * 0.185, r * 0.13, 0, Math.PI * 1.06, Math.PI * 1.94);
    context.stroke();
    context.strokeStyle = mix(hair, darker(skin, 0.5), 0.35);
    context.lineWidth = r * 0.07;
    context.beginPath();
    context.moveTo(ex - side * r * 0.2, y - r * 0.33);
    context.quadraticCurveTo(ex + side * r * 0.04, y - r * 0.44, ex + side * r * 0.24, y - r * 0.31);
    context.stroke();
  }
}

/** The colour of the lips of a skin. */
export function lipColor(skin: Color): Color {
  return mix(darker(skin, 0.18), "#c2364a", 0.55);
}

function drawMouth(context: Context, { mouth: { x, y, halfWidth: w } }: FaceGeometry, skin: Color): void {
  const lips = lipColor(skin);
  context.fillStyle = lips;
  context.beginPath();
  context.moveTo(x - w, y - w * 0.2);
  context.quadraticCurveTo(x - w * 0.5, y - w * 0.12, x - w * 0.18, y - w * 0.1);
  context.quadraticCurveTo(x, y - w * 0.02, x + w * 0.18, y - w * 0.1);
  context.quadraticCurveTo(x + w * 0.5, y - w * 0.12, x + w, y - w * 0.2);
  context.bezierCurveTo(x + w * 0.55, y + w * 0.56, x - w * 0.55, y + w * 0.56, x - w, y - w * 0.2);
  context.fill();
  context.strokeStyle = darker(lips, 0.45);
  context.lineWidth = w * 0.075;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x - w * 1.04, y - w * 0.24);
  context.quadraticCurveTo(x, y + w * 0.4, x + w * 1.04, y - w * 0.24);
  context.stroke();
  oval(context, x, y + w * 0.25, w * 0.26, w * 0.04, alpha("#ffffff", 0.22));
}

function drawGlasses(context: Context, { x, radius: r, eyes }: FaceGeometry, color: Color): void {
  context.strokeStyle = color;
  context.lineWidth = r * 0.05;
  context.beginPath();
  for (const side of [-1, 1]) {
    context.roundRect(x + side * eyes.apart - r * 0.29, eyes.y - r * 0.22, r * 0.58, r * 0.46, r * 0.18);
    context.moveTo(x + side * (eyes.apart + r * 0.29), eyes.y);
    context.lineTo(x + side * r, eyes.y - r * 0.04);
  }
  context.moveTo(x - r * 0.13, eyes.y - r * 0.04);
  context.lineTo(x + r * 0.13, eyes.y - r * 0.04);
  context.stroke();
}
