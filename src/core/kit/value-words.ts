import { own } from "./own.ts";

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

export function typeWords(types: readonly string[]): string {
  return [...new Set(types)].map((type) => own(TYPES, type) ?? type).join(" or ");
}

export function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return Number.isInteger(value) ? "a whole number" : "a number";
  return TYPES[typeof value] ?? typeof value;
}

/** Returns a value as text. Objects are named by their kind, because they can be large or cyclic. */
export function valueText(value: unknown): string {
  return typeof value === "object" ? kindOfValue(value) : shown(value);
}

export function shown(value: unknown): string {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const text = isNumber ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
