import type { Json, PlanStep } from "./plan.ts";
import { isReference } from "./references.ts";

/** What a request asks for, as far as that may decide how long it takes. */
export interface Work {
  /** Fields that have a choice of values, as text. */
  readonly settings: string;
  /** Seconds, megapixels, outputs and the characters that are spoken, multiplied; null while an earlier step decides it. */
  readonly amount: number | null;
}

type Measure = (value: Json, name: string) => number | null;

/** How much work a field asks for, by its name; null: its value is no measure. */
const MEASURES: readonly (readonly [RegExp, Measure])[] = [
  [/^(duration|length|seconds|num_seconds)(_ms|_s|_sec|_seconds)?$/, secondsOf],
  [/^(num_outputs|num_images|num_videos|batch_size|n)$/, (value) => (typeof value === "number" ? value : null)],
  [/^(width|height)$/, (value) => (typeof value === "number" ? value / 1000 : null)],
  [/^(resolution|size|image_size|video_size|quality)$/, megapixelsOf],
];
const SHOTS = /shots|multi_prompt|scenes|segments/;
const WORDS = /prompt|text|script|lyrics|message|caption|title|seed/;
const SPOKEN = /^(text|prompt|script|lyrics)$/;
const LONGEST_SETTING = 40;
const LONGEST_SETTINGS = 200;
/** What one of several shots takes that does not say, seconds. */
const SHOT_SECONDS = 5;

/** Of a step's request as it is planned, or with the input that was sent; a local function has no measure of its work. */
export function workOf(step: PlanStep, sent?: Json): Work {
  if (!("model" in step)) return { settings: "", amount: 1 };
  const { input: planned, yields } = step;
  const input = sent ?? planned;
  const fields = typeof input === "object" && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
  const settings: string[] = [];
  let amount: number | null = 1;
  const times = (by: number | null) => {
    amount = amount === null || by === null ? null : amount * by;
  };
  let characters = 0;
  const hasLength = fields.some(([name]) => MEASURES[0]![0].test(name));
  for (const [name, value] of fields.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const measure = MEASURES.find(([names]) => names.test(name))?.[1];
    const isSpoken = (yields === "audio" || yields === "voice") && SPOKEN.test(name);
    const by = measure?.(value, name) ?? null;
    if ((measure !== undefined || isSpoken) && isOpen(value)) times(null);
    else if (by !== null) times(by);
    else if (isSpoken && typeof value === "string") characters += value.length;
    else if (SHOTS.test(name) && Array.isArray(value)) {
      if (!hasLength) times(value.reduce((sum: number, shot) => sum + shotSeconds(shot), 0));
    } else if (!WORDS.test(name)) settings.push(settingOf(name, value));
  }
  if (characters > 0) times(characters);
  return { settings: settings.join(" ").slice(0, LONGEST_SETTINGS), amount };
}

/** Whether an earlier step decides it. */
function isOpen(value: Json): boolean {
  return typeof value === "object" && value !== null && (isReference(value) || "$text" in value);
}

function secondsOf(value: Json, name: string): number | null {
  const number = typeof value === "string" && /^\d+(\.\d+)?s?$/.test(value) ? Number.parseFloat(value) : value;
  if (typeof number !== "number" || number <= 0) return null;
  return name.endsWith("_ms") ? number / 1000 : number;
}

/** Of `720p`, `4K` and `1024x768`. */
function megapixelsOf(value: Json): number | null {
  const [, lines, thousands, width, height] =
    /^(?:(\d{3,4})p|(\d)k|(\d+)[x*×](\d+))$/i.exec(typeof value === "string" ? value : "") ?? [];
  if (lines !== undefined) return (Number(lines) ** 2 * 16) / 9 / 1e6;
  // 4K is 3840 by 2160.
  if (thousands !== undefined) return Number(thousands) ** 2 * 0.5184;
  return width === undefined ? null : (Number(width) * Number(height)) / 1e6;
}

function shotSeconds(shot: Json): number {
  const fields = typeof shot === "object" && shot !== null ? Object.entries(shot) : [];
  const [seconds] = fields.flatMap(([name, value]) => (MEASURES[0]![0].test(name) ? [secondsOf(value, name)] : []));
  return seconds ?? SHOT_SECONDS;
}

/** Of what is no plain value, only that it is there. */
function settingOf(name: string, value: Json): string {
  const isChoice = typeof value !== "object" && String(value).length <= LONGEST_SETTING;
  return isChoice ? `${name}=${value}` : name;
}
