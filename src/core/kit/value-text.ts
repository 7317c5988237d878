import { own } from "./lookup.ts";

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

/** Formats a number of bytes for display, in units of 1000: `840 B`, `2.1 kB`, `3.4 MB`, `1.2 GB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1e3) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface DecidedParts {
  readonly approved: boolean;
  readonly value?: unknown;
  readonly by?: { readonly name: string; readonly verified: boolean };
}

export function decidedText({ approved, value, by }: DecidedParts): string {
  const what = approved ? `approved${value === undefined ? "" : " with a changed value"}` : "rejected";
  return by === undefined ? what : `${what} ${deciderText(by)}`;
}

export function deciderText({ name, verified }: NonNullable<DecidedParts["by"]>): string {
  return `by ${name}${verified ? "" : " (name not verified)"}`;
}
