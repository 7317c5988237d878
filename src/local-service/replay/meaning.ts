import { isRecord } from "../json.ts";
import { recordable, SENDERS_OWN, withoutSendersOwn } from "../recording/recorded-values.ts";

/** Deepest nesting that is compared. */
const MOST_DEPTH = 100;

/** The meaning of a body: what it says, in one order, without what only its sender needs; absent, empty and `{}` are one. */
export function meaningOf(body: unknown): string {
  return JSON.stringify(ordered(recordable(withoutSendersOwn(body) ?? {}), MOST_DEPTH));
}

function ordered(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => ordered(item, depth - 1));
  const fields = Object.entries(value)
    // A field that is null says what its absence says.
    .filter(([, item]) => item !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  // A list of pairs, as names of digits alone would take an order of their own.
  return fields.map(([name, item]) => [name, ordered(item, depth - 1)]);
}

/** Paths at which two bodies differ, three at most. */
export function differencesOf(a: unknown, b: unknown, path = "", depth = MOST_DEPTH): readonly string[] {
  if (JSON.stringify(ordered(a, depth)) === JSON.stringify(ordered(b, depth))) return [];
  const isBoth = isRecord(a) && isRecord(b);
  if (!isBoth || depth === 0) return [path || "body"];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => path !== "" || !SENDERS_OWN.has(name),
  );
  return names
    .flatMap((name) => differencesOf(own(a, name), own(b, name), path === "" ? name : `${path}.${name}`, depth - 1))
    .slice(0, 3);
}

function own(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? (record[name] ?? undefined) : undefined;
}
