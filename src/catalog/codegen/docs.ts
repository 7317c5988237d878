import type { JsonSchema } from "../../plan/index.ts";

const FACTS: readonly (readonly [keyword: string, label: string])[] = [
  ["default", "Default"],
  ["minimum", "At least"],
  ["maximum", "At most"],
  ["exclusiveMinimum", "More than"],
  ["exclusiveMaximum", "Less than"],
  ["multipleOf", "A multiple of"],
  ["minLength", "Characters at least:"],
  ["maxLength", "Characters at most:"],
  ["minItems", "Items at least:"],
  ["maxItems", "Items at most:"],
  ["max_file_size_bytes", "Bytes at most:"],
  ["min_duration_ms", "Milliseconds at least:"],
  ["max_duration_ms", "Milliseconds at most:"],
  ["max_total_duration_ms", "Milliseconds in all at most:"],
  ["min_dimension_px", "Pixels a side at least:"],
  ["max_dimension_px", "Pixels a side at most:"],
];

/** What the schema says of a field that its type cannot: words, default and bounds. */
export function fieldDocs(parts: readonly JsonSchema[]): readonly string[] {
  const said = new Set<string>();
  for (const part of parts) {
    if (typeof part.description === "string") said.add(sentence(part.description));
    if (part.deprecated === true) said.add("@deprecated");
  }
  for (const [keyword, label] of FACTS) {
    const value = parts.find((part) => part[keyword] !== undefined)?.[keyword];
    if (value !== undefined) said.add(`${label} ${JSON.stringify(value)}.`);
  }
  return [...said];
}

/** A doc comment of these sentences; nothing when there are none. */
export function comment(sentences: readonly string[], indent: string): string {
  // A description comes from outside; it must not end the comment that it stands in.
  const said = sentences.map((one) => one.replaceAll("*/", "*∕").replace(/\s+/g, " ").trim()).filter(Boolean);
  if (said.length === 0) return "";
  const tag = said.findIndex((one) => one.startsWith("@"));
  if (tag < 0) return `${indent}/** ${said.join(" ")} */\n`;
  // A tag counts only at the beginning of a line.
  const lines = [said.slice(0, tag).join(" "), ...said.slice(tag)]
    .filter(Boolean)
    .map((line) => `${indent} * ${line}\n`);
  return `${indent}/**\n${lines.join("")}${indent} */\n`;
}

export function sentence(words: string): string {
  const trimmed = words.trim();
  return trimmed === "" || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
