import { pointerOf } from "../core/define/handle.ts";
import { didYouMean } from "../core/kit/lookup.ts";
import { FilmError } from "./ffmpeg/film-error.ts";
import { MOST_PIXELS } from "./graph/frame.ts";

/** Returns a description of the expected value, or null if the value is valid. */
type Rule = (value: unknown) => string | null;
export type Rules = { readonly [option: string]: Rule };

const inside = (value: unknown, least: number, most: number): value is number =>
  typeof value === "number" && value >= least && value <= most;

export function number(least: number, most: number, unit = ""): Rule {
  return (value) => (inside(value, least, most) ? null : `a number${unit} from ${least} to ${most}`);
}

export function oneOf(...names: readonly (string | boolean)[]): Rule {
  return (value) => (names.includes(value as string) ? null : names.map((name) => JSON.stringify(name)).join(" or "));
}

export const any: Rule = () => null;
export const seconds: Rule = (value) => (inside(value, 0, 86_399) ? null : "0 seconds or more, such as 0.5");
export const someSeconds: Rule = (value) =>
  inside(value, 0, 86_399) && value > 0 ? null : "more than 0 seconds, such as 2.5";
export const decibels: Rule = number(-100, 60, " of decibels");
export const fit: Rule = oneOf("crop", "pad", "blur");
export const format: Rule = oneOf("16:9", "9:16", "1:1", "4:5");
export const lines: Rule = (value) => {
  const [, count] = /^(\d{2,4})p$/.exec(String(value)) ?? [];
  return inside(Number(count), 16, MOST_PIXELS) ? null : 'a size such as "1080p"';
};
export const size: Rule = (value) => {
  const [, ...sides] = /^(\d{1,5})x(\d{1,5})$/.exec(String(value)) ?? [];
  const isExact = sides.length === 2 && sides.every((side) => inside(Number(side), 16, MOST_PIXELS));
  return isExact || lines(value) === null
    ? null
    : `a size such as "1080p" or "1280x720", 16 to ${MOST_PIXELS} pixels per side`;
};
export const color: Rule = (value) => (/^#[0-9a-f]{6}$/i.test(String(value)) ? null : 'a color such as "#ff8800"');
const text: Rule = (value) => (typeof value === "string" && value !== "" ? null : "text");

export const letterStyle: Rules = {
  font: text,
  fontFile: text,
  size: number(0.005, 0.5, " (fraction of the shorter side)"),
  color,
  outline: color,
  box: oneOf(true, false),
  highlight: color,
  position: oneOf("top", "middle", "bottom"),
};

/** Checks a step's options. Handles are accepted, because their values are not known yet. @throws FilmError */
export function checkOptions(where: string, given: object, rules: Rules): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || pointerOf(value) !== null) continue;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      const names = Object.keys(rules);
      throw unfit(`${where}: unknown option ${name}; ${didYouMean(name, names) ?? `use ${names.join(", ")}`}`);
    }
    const instead = rule(value);
    if (instead !== null) throw unfit(`${where}: ${name} is ${shownValue(value)}; use ${instead}`);
  }
}

export function checkBlend(where: string, fade: unknown, { length, what }: { length: number; what: string }): void {
  if (typeof fade !== "number" || fade === 0 || fade < length) return;
  throw unfit(`${where}: fade is ${fade} s, but it must be shorter than ${what} (${length} s)`);
}

export function unfit(message: string): FilmError {
  return new FilmError("FILM_INPUT", message);
}

function shownValue(value: unknown): string {
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
}
