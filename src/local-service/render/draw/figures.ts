import { readFileSync } from "node:fs";
import { Image } from "@napi-rs/canvas";
import { pick, type Random, randomFrom } from "../random.ts";
import type { Size } from "../size.ts";
import type { Brief, Subject } from "./brief.ts";
import { alpha, type Color, type Context, darker, lighter, mix, oval } from "./brush.ts";

/** Margin on each side that a moving camera may show, as a fraction of the frame. */
export const OVERSCAN = 0.12;

type Tones = Readonly<Record<string, string>>;

/** Loads a figure and fills in its colors. `{coat+20}` is the color `coat`, lightened by 20%. */
function inTones(name: Subject, tones: Tones): string {
  const svg = readFileSync(new URL(`./figures/${name}.svg`, import.meta.url), "utf8");
  return svg.replaceAll(/\{(\w+)(?:([+-])(\d+))?\}/g, (_, tone: string, sign: string | undefined, percent: string) => {
    const color = tones[tone] ?? "#000000";
    if (sign === undefined) return color;
    return (sign === "+" ? lighter : darker)(color, Number(percent) / 100);
  });
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly unit: number;
}

function drawFigure(context: Context, { width, height }: Size, svg: string, { x, y, unit }: Place): void {
  const [left, top] = [-Math.round(width * OVERSCAN), -Math.round(height * OVERSCAN)];
  const [wide, high] = [width - 2 * left, height - 2 * top];
  const box = [left - x, top - y, wide, high].map((length) => length / unit).join(" ");
  const image = new Image();
  image.src = Buffer.from(svg.replace(/viewBox="[^"]*"/, `width="${wide}" height="${high}" viewBox="${box}"`));
  context.drawImage(image, left, top);
}

interface Placement {
  /** Distance of the subject's base from the top, as a fraction of the frame's height. */
  readonly at: number;
  /** Half the subject's width, as a fraction of the shorter side of the frame. */
  readonly scale: number;
  /** Half the width of the shadow, in units of the subject's drawing; 0 if the subject flies or floats. */
  readonly shadow: number;
}

const PLACEMENTS: Readonly<Record<Exclude<Subject, "face">, Placement>> = {
  cat: { at: 0.84, scale: 0.29, shadow: 0.75 },
  dog: { at: 0.84, scale: 0.29, shadow: 0.75 },
  robot: { at: 0.84, scale: 0.28, shadow: 0.62 },
  bird: { at: 0.5, scale: 0.3, shadow: 0 },
  car: { at: 0.92, scale: 0.42, shadow: 1.02 },
  boat: { at: 0.8, scale: 0.24, shadow: 0 },
  rocket: { at: 0.74, scale: 0.26, shadow: 0 },
  balloon: { at: 0.62, scale: 0.22, shadow: 0 },
  bottle: { at: 0.84, scale: 0.3, shadow: 1.1 },
  cup: { at: 0.82, scale: 0.27, shadow: 0.9 },
  house: { at: 0.88, scale: 0.26, shadow: 0.82 },
  flower: { at: 0.92, scale: 0.34, shadow: 0 },
};

const COATS = ["#e39a4f", "#6d6a75", "#d8b48a", "#8a5a3c", "#5b4a44"] as const;

function tonesOf({ palette, tint, key }: Brief): Tones {
  const coat = tint === palette.accent ? pick(randomFrom(key, "coat"), COATS) : tint;
  return {
    tint,
    coat,
    collar: palette.accent === coat ? "#2f6fc4" : palette.accent,
    near: palette.near,
    mid: palette.mid,
    light: palette.light,
    sky: palette.sky[0],
    wing: palette.isDark ? palette.light : palette.near,
    pane: palette.isDark ? "#ffdf8f" : "#bfe0ea",
    shell: mix("#e9edf2", tint, 0.12),
    hull: mix(palette.near, "#5a2e22", 0.45),
    stem: mix("#3b7a4b", palette.near, 0.25),
  };
}

export function drawSubject(context: Context, size: Size, brief: Brief): void {
  const { subject, palette } = brief;
  if (subject === null) return;
  if (subject === "face") {
    const { x, y, radius } = faceGeometry(size);
    drawFigure(context, size, inTones("face", personOf(brief)), { x, y, unit: radius });
    return;
  }
  const { at, scale, shadow } = PLACEMENTS[subject];
  const unit = Math.min(size.width, size.height) * scale;
  const [x, y] = [size.width / 2, size.height * at - unit];
  const shade = alpha(darker(palette.near, 0.4), 0.28);
  if (shadow > 0) oval(context, x, y + unit, shadow * unit, 0.075 * unit, shade);
  drawFigure(context, size, inTones(subject, tonesOf(brief)), { x, y, unit });
}

export interface FaceGeometry {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly mouth: { readonly x: number; readonly y: number; readonly halfWidth: number };
  readonly eyes: { readonly y: number; readonly apart: number; readonly radius: number };
}

/**
 * Returns the position of the face. It depends only on the frame's size, so that the avatar renderer can find the face.
 */
export function faceGeometry({ width, height }: Size): FaceGeometry {
  const radius = Math.min(width * 0.27, height * 0.2);
  const [x, y] = [width / 2, height * 0.42];
  return {
    x,
    y,
    radius,
    mouth: { x, y: y + radius * 0.68, halfWidth: radius * 0.34 },
    eyes: { y: y - radius * 0.06, apart: radius * 0.42, radius: radius * 0.13 },
  };
}

const STYLES = ["short", "long", "bob", "bun", "curly", "bald"] as const;
type HairStyle = (typeof STYLES)[number];

const HAIR_WORDS: readonly (readonly [RegExp, Color])[] = [
  [/\b(blond[e]?|fair)\b/, "#dfb25c"],
  [/\b(redhead|ginger|red hair)\b/, "#b4552d"],
  [/\b(old|elderly|senior|gr[ae]y|grandm\w*|grandf\w*|silver)\b/, "#c9c9cf"],
  [/\b(black hair|dark hair)\b/, "#201c24"],
];

const STYLE_WORDS: readonly (readonly [RegExp, HairStyle])[] = [
  [/\bbald\b/, "bald"],
  [/\bcurl(s|y)\b/, "curly"],
  [/\bbun\b/, "bun"],
];

function hairStyle(words: string, isMan: boolean, random: Random): HairStyle {
  const named = STYLE_WORDS.find(([pattern]) => pattern.test(words))?.[1];
  if (named) return named;
  if (isMan) return pick<HairStyle>(random, ["short", "short", "curly"]);
  const isWoman = /\b(wom[ae]n|girl|lady|female|mother|queen|actress)\b/.test(words);
  return pick<HairStyle>(random, isWoman ? ["long", "bob", "bun"] : ["short", "long", "bob", "curly", "bun"]);
}

function personOf({ prompt, palette, tint, key }: Brief): Tones {
  const random = randomFrom(key, "face");
  const words = prompt.toLowerCase();
  const isMan = /\b(man|men|guy|boy|gentleman|male|father|king|actor|beard(ed)?)\b/.test(words);
  const skin = pick(random, ["#f7d3b5", "#eebd95", "#dba373", "#b97c50", "#8a5733", "#68402a"]);
  const natural = pick(random, ["#2a1d1a", "#4a2f22", "#6e4527", "#201c24", "#8d5a2b"]);
  const hair = HAIR_WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? natural;
  const style = hairStyle(words, isMan, random);
  const shown = (is: boolean, opacity = "1") => (is ? opacity : "0");
  const isParted = style === "long" || style === "bob" || style === "bun";
  return {
    ...Object.fromEntries(STYLES.map((name) => [name, shown(style === name)])),
    parted: shown(isParted),
    shine: shown(isParted || style === "short", "0.35"),
    beard: shown(/\bbeard(ed)?\b/.test(words) || (isMan && random() < 0.3)),
    glasses: shown(/\b(glasses|spectacles|professor|librarian)\b/.test(words) || random() < 0.12),
    skin,
    hair,
    near: palette.near,
    clothes: mix(tint, palette.near, 0.15),
    eyes: pick(random, ["#4a3425", "#3c5a6e", "#4f6b45", "#2d2622"]),
    lips: mix(darker(skin, 0.18), "#c2364a", 0.55),
    brow: mix(hair, darker(skin, 0.5), 0.35),
    lash: darker(mix(skin, hair, 0.5), 0.35),
  };
}
