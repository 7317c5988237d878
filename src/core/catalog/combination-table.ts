import type { JsonSchema } from "../plan/index.ts";

/** One way in which a model's fields go together. */
export interface Combination {
  readonly requires: readonly string[];
  readonly omits: readonly string[];
  /** Values by field, as the table writes them; a field that is not given holds none of them wrong. */
  readonly accepts: ReadonlyMap<string, readonly string[]>;
  /** The row as it is published, its number included. */
  readonly text: string;
}

/** A model's published table of combinations: an input is accepted when one row holds. */
export interface CombinationTable {
  readonly rows: readonly Combination[];
  /** Lines that are no row. */
  readonly unread: readonly string[];
  /**
   * False where a numbered row cannot be read, or there are too many. An input may fulfil just that one, so the table then
   * refuses nothing.
   */
  readonly isWhole: boolean;
}

const HEADING = /Accepted field combinations(?: \([^()]*\))?:$/;

/** Far more than any model has; each check reads them all. */
const MAX_ROWS = 500;

const known = new WeakMap<JsonSchema, CombinationTable | null>();

/**
 * The table in a schema's description: after a line that ends with `Accepted field combinations:` (a note in brackets may
 * stand before the colon), one line a row, to the end or an empty line. A row is
 * `(N) requires: NAME, …[; must omit: NAME, …][; accepts NAME: VALUE | …[; NAME: VALUE | …]…]`. Null for no table.
 */
export function combinationTable(schema: JsonSchema): CombinationTable | null {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const read = typeof schema.description === "string" ? readTable(schema.description) : null;
  known.set(schema, read);
  return read;
}

function readTable(description: string): CombinationTable | null {
  const lines = description.split("\n").map((line) => line.trim());
  const heading = lines.findIndex((line) => HEADING.test(line));
  if (heading < 0) return null;
  const after = lines.slice(heading + 1);
  const end = after.indexOf("");
  const listed = end < 0 ? after : after.slice(0, end);
  const rows = listed.slice(0, MAX_ROWS).flatMap((line) => readRow(line) ?? []);
  const unread = listed.filter((line, index) => index >= MAX_ROWS || readRow(line) === null);
  return { rows, unread, isWhole: !unread.some((line) => /^\(\d+\)/.test(line)) };
}

const ROW = /^\(\d+\) *requires:([^;]*)(?:; *must omit:([^;]*))?(?:; *accepts (.*))?$/;
const NAME = /^\w[\w.-]*$/;

function readRow(text: string): Combination | null {
  const [, required, omitted, accepted] = ROW.exec(text) ?? [];
  const requires = required === undefined ? null : split(required, ",");
  const omits = omitted === undefined ? [] : split(omitted, ",");
  const accepts = accepted === undefined ? new Map<string, readonly string[]>() : readValues(accepted);
  if (requires === null || omits === null || accepts === null) return null;
  return [...requires, ...omits].every((name) => NAME.test(name)) ? { requires, omits, accepts, text } : null;
}

function readValues(text: string): Combination["accepts"] | null {
  const accepts = new Map<string, readonly string[]>();
  for (const part of text.split(";")) {
    const colon = part.indexOf(":");
    const name = part.slice(0, Math.max(0, colon)).trim();
    const values = split(part.slice(colon + 1), "|");
    if (!NAME.test(name) || accepts.has(name) || values === null) return null;
    accepts.set(name, values);
  }
  return accepts;
}

/** Null where a part is empty. */
function split(text: string, by: string): readonly string[] | null {
  const parts = text.split(by).map((part) => part.trim());
  return parts.includes("") ? null : parts;
}
