import type { JsonSchema } from "../../plan/index.ts";
import { combinationTable } from "../combination-table.ts";

type Say = (value: number) => string;

const count = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 20 });
const characters: Say = (value) => `${count(value)} ${value === 1 ? "character" : "characters"}`;
const items: Say = (value) => `${count(value)} ${value === 1 ? "item" : "items"}`;
const duration: Say = (value) => (value % 1000 === 0 ? `${count(value / 1000)} s` : `${count(value)} ms`);
const pixels: Say = (value) => `${count(value)} pixels a side`;
const plain: Say = (value) => String(value);

const BOUNDS: readonly (readonly [keyword: string, words: string, say: Say])[] = [
  ["minimum", "At least", plain],
  ["maximum", "At most", plain],
  ["exclusiveMinimum", "More than", plain],
  ["exclusiveMaximum", "Less than", plain],
  ["multipleOf", "A multiple of", plain],
  ["minLength", "At least", characters],
  ["maxLength", "At most", characters],
  ["minItems", "At least", items],
  ["maxItems", "At most", items],
  ["max_file_size_bytes", "At most", bytes],
  ["min_duration_ms", "At least", duration],
  ["max_duration_ms", "At most", duration],
  ["max_total_duration_ms", "In total, at most", duration],
  ["min_dimension_px", "At least", pixels],
  ["max_dimension_px", "At most", pixels],
];

export function fieldDocs(parts: readonly JsonSchema[]): readonly string[] {
  const sentences = new Set<string>();
  const tags = new Set<string>();
  for (const part of parts) {
    if (typeof part.description === "string") sentences.add(sentence(part.description));
    if (part.deprecated === true) tags.add("@deprecated");
  }
  const described = [...sentences].join(" ");
  const factOf = (keyword: string) => parts.find((part) => part[keyword] !== undefined)?.[keyword];
  const preset = factOf("default");
  const isPresetSaid = /\bdefault/i.test(described) && described.includes(String(preset));
  if (preset !== undefined && !isPresetSaid) sentences.add(`Default ${JSON.stringify(preset)}.`);
  for (const [keyword, words, say] of BOUNDS) {
    const value = factOf(keyword);
    if (typeof value !== "number" || mentions(described, [plain(value), count(value), say(value)])) continue;
    sentences.add(`${words} ${say(value)}.`);
  }
  return [...sentences, ...tags];
}

function mentions(described: string, ways: readonly string[]): boolean {
  if (!/\b(?:at (?:most|least)|max|min|up to|limit|no more|no longer|\d to \d)|\d\s*[–-]\s*\d/i.test(described))
    return false;
  const text = described.toLowerCase().replace(/mib/g, "mb");
  return ways.some((way) => {
    const requested = way
      .toLowerCase()
      .replace("mib", "mb")
      .replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`(?<![\\d.,])${requested}(?![\\d]|[.,]\\d)`).test(text);
  });
}

function bytes(value: number): string {
  for (const [unit, size] of [
    ["GiB", 1024 ** 3],
    ["MiB", 1024 ** 2],
    ["KiB", 1024],
  ] as const) {
    if (value >= size && value % (size / 4) === 0) return `${count(value / size)} ${unit}`;
  }
  return `${count(value)} bytes`;
}

export function combinationDocs(schema: JsonSchema): readonly string[] {
  const { rows = [] } = combinationTable(schema) ?? {};
  if (rows.length === 0) return [];
  return ["Accepted combinations of fields:", ...rows.map(({ text }) => `- ${text}`)];
}

export function comment(sentences: readonly string[], indent: string): string {
  // The description is external text and must not end the comment.
  const texts = sentences.map((text) => text.replaceAll("*/", "*∕").replace(/\s+/g, " ").trim()).filter(Boolean);
  if (texts.length === 0) return "";
  const tag = texts.findIndex((text) => /^(?:@|- )/.test(text));
  if (tag < 0) return `${indent}/** ${texts.join(" ")} */\n`;
  // A tag or list item must start a line.
  const lines = [texts.slice(0, tag).join(" "), ...texts.slice(tag)]
    .filter(Boolean)
    .map((line) => `${indent} * ${line}\n`);
  return `${indent}/**\n${lines.join("")}${indent} */\n`;
}

export function sentence(words: string): string {
  const trimmed = words.trim();
  return trimmed === "" || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
