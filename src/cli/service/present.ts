import { dollars } from "../../money.ts";
import { visible } from "../text/escape.ts";
import { shorten, table } from "../text/table.ts";

/**
 * A value of the client in the form that programs get: snake_case names as in the API, amounts as decimal strings
 * (`costMicros: 290000` becomes `cost: "0.29"`).
 */
export function wireForm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wireForm);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const money = key.endsWith("Micros") && (inner === null || typeof inner === "number");
      const name = snake(money ? key.slice(0, -"Micros".length) : key);
      return [
        name,
        money && typeof inner === "number" ? dollars(inner).replace("$", "") : verbatim(key) ? inner : wireForm(inner),
      ];
    }),
  );
}

/** Documents of others, whose names are not ours to change. */
function verbatim(key: string): boolean {
  return ["inputSchema", "outputSchema", "data", "labels", "raw"].includes(key);
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : "";

export type WireName<Key extends string> = Snake<Key extends `${infer Name}Micros` ? Name : Key>;

/** Rows, and those of their fields (names as in the wire form) that fit a table. */
export interface Columns {
  readonly items: readonly object[];
  readonly fields: readonly string[];
}

/** A field that the rows do not have in the wire form does not compile. */
export function columns<Row extends object>(
  items: readonly Row[],
  fields: readonly WireName<keyof Row & string>[],
): Columns {
  return { items, fields };
}

export function listText({ items, fields }: Columns, width?: number): string {
  const rows = items.map((item) => wireForm(item) as Readonly<Record<string, unknown>>);
  return table(
    rows,
    fields.map((field) => ({ title: field, value: (row: (typeof rows)[number]) => cell(row[field]), flexible: true })),
    width,
  );
}

/** One thing as aligned lines; what is nested stands as JSON. */
export function oneText(value: object): string {
  const entries = Object.entries(wireForm(value) as object);
  const wide = Math.max(0, ...entries.map(([key]) => key.length));
  return entries.map(([key, inner]) => `${visible(key).padEnd(wide)}  ${cell(inner)}`).join("\n");
}

const longest = 400;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return shorten(visible(typeof value === "object" ? JSON.stringify(value) : String(value)), longest);
}
