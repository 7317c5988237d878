import type { Json } from "../../core/plan/plan.ts";
import type { FieldView } from "../models/view.ts";

export type Coerced =
  | { readonly fits: true; readonly value: Json; readonly why: string | null }
  | { readonly fits: false; readonly why: string; readonly choices: readonly string[] };

export function coerce(field: FieldView, value: Json): Coerced {
  if (field.values !== null) return fitListed(field, field.values, value);
  const type = typeof value;
  const isOfType = field.types.includes(type) || (type === "number" && field.types.includes("integer"));
  if (field.types.length > 0 && !isOfType && ["number", "string", "boolean"].includes(type)) {
    return { fits: false, why: `${field.name} must be of type ${field.types.join(" or ")}`, choices: ["leave it out"] };
  }
  if (typeof value === "number") return fitNumber(field, value);
  if (typeof value === "string") return fitText(field, value);
  return { fits: true, value, why: null };
}

function fitListed(field: FieldView, values: readonly Json[], value: Json): Coerced {
  if (values.includes(value)) return { fits: true, value, why: null };
  const choices = values.map(String);
  const same = values.find((one) => String(one).toLowerCase() === String(value).toLowerCase());
  if (same !== undefined) return { fits: true, value: same, why: "as v3 spells it" };
  const nearest = nearestOf(field.name, value, values);
  if (nearest === undefined) return { fits: false, why: `${field.name} must be one of ${choices.join(", ")}`, choices };
  return { fits: true, value: nearest, why: `the nearest of ${shorten(choices)}` };
}

function shorten(choices: readonly string[]): string {
  return choices.length <= 6 ? choices.join(", ") : `${choices.slice(0, 2).join(", ")}, … ${choices.at(-1)}`;
}

function nearestOf(name: string, value: Json, values: readonly Json[]): Json | undefined {
  // For images, 1K means 1024 lines. For videos, 2K and 4K are widths, so 1K means 540 lines.
  const linesPerK = [value, ...values].some((one) => /^1\s*k$/i.test(String(one))) ? 1024 : 540;
  const requested = measureOf(name, value, linesPerK);
  if (requested === null) return undefined;
  let best: { readonly value: Json; readonly distance: number; readonly size: number } | undefined;
  for (const value of values) {
    const size = measureOf(name, value, linesPerK);
    if (size === null) continue;
    const distance = Math.abs(Math.log(size / requested));
    const isNearer = best === undefined || distance < best.distance - 1e-9;
    // Of two equally near values, the larger one is chosen, because it loses nothing.
    const isLarger = best !== undefined && Math.abs(distance - best.distance) <= 1e-9 && size > best.size;
    if (isNearer || isLarger) best = { value, distance, size };
  }
  return best?.value;
}

function measureOf(name: string, value: Json, linesPerK: number): number | null {
  if (typeof value === "number") return value > 0 ? value : null;
  if (typeof value !== "string") return null;
  return /ratio/.test(name)
    ? ratioOf(value)
    : /resolution|size/.test(name)
      ? linesOf(value, linesPerK)
      : numberOf(value);
}

function numberOf(text: string): number | null {
  const value = Number(text);
  return text.trim() !== "" && value > 0 ? value : null;
}

export function ratioOf(text: string): number | null {
  const [, width, height] = /^\s*(\d+(?:\.\d+)?)\s*[:x×/]\s*(\d+(?:\.\d+)?)\s*$/i.exec(text) ?? [];
  const ratio = width === undefined || height === undefined ? Number(text) : Number(width) / Number(height);
  return Number.isFinite(ratio) && ratio > 0 ? ratio : null;
}

const NAMED_LINES = new Map([
  ["sd", 480],
  ["hd", 720],
  ["fhd", 1080],
  ["full hd", 1080],
  ["qhd", 1440],
  ["uhd", 2160],
]);

/** Returns the shorter side in pixels for `720p`, `4K` or `1920x1080`. */
export function linesOf(text: string, linesPerK: number): number | null {
  const plain = text.trim().toLowerCase();
  const named = NAMED_LINES.get(plain);
  if (named !== undefined) return named;
  const [, width, height] = /^(\d+)\s*[x×]\s*(\d+)$/.exec(plain) ?? [];
  if (width !== undefined && height !== undefined) return Math.min(Number(width), Number(height)) || null;
  const [, lines] = /^(\d+)\s*(?:p|px)?$/.exec(plain) ?? [];
  if (lines !== undefined) return Number(lines) || null;
  const [, thousands] = /^(\d+(?:\.\d+)?)\s*k$/.exec(plain) ?? [];
  return thousands === undefined ? null : Number(thousands) * linesPerK || null;
}

function fitNumber(field: FieldView, value: number): Coerced {
  const { types, min, max, step } = field;
  const isWhole = types.includes("integer") && !types.includes("number");
  const stepped = step === null ? value : Math.round(value / step) * step;
  const bounded = Math.min(max, Math.max(min, isWhole ? Math.round(stepped) : stepped));
  if (bounded === value) return { fits: true, value, why: null };
  const bounds = [min > -Infinity ? `at least ${min}` : "", max < Infinity ? `at most ${max}` : ""].filter(Boolean);
  const rule = [...bounds, ...(step === null ? [] : [`a multiple of ${step}`]), ...(isWhole ? ["a whole number"] : [])];
  return { fits: true, value: bounded, why: `the nearest allowed value (${rule.join(", ")})` };
}

function fitText(field: FieldView, value: string): Coerced {
  const { maxLength, pattern, name } = field;
  const length = [...value].length;
  if (length > maxLength) {
    const why = `has ${length} characters; ${name} accepts at most ${maxLength}`;
    return { fits: false, why, choices: ["supply shorter text when you run the pipeline", "edit the source"] };
  }
  if (pattern !== null && !pattern.test(value)) {
    const why = value.trim() === "" ? `is blank; ${name} must contain visible text` : `does not match ${pattern}`;
    return { fits: false, why, choices: ["supply different text when you run the pipeline", "edit the source"] };
  }
  return { fits: true, value, why: null };
}
