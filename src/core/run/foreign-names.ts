import { isOwnSource } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";

/** `$file` marks a stored file. Each further `$` is an escape. */
const OWN = /^\$+file$/;
const GUARDED = /^\$\$+file$/;

/** Adds a `$` to each key of a foreign value that looks like a file's key. */
export function guarded(value: Json): Json {
  return mapped(value, (name, item) => [OWN.test(name) ? `$${name}` : name, item]);
}

/** Escapes `source` fields of a foreign value, which could otherwise name another run's files. */
export function guardedSources(value: Json): Json {
  return mapped(value, (name, item) => [name, isOwnSource(name, item) ? `$${item}` : item]);
}

export function plainName(name: string): string {
  return GUARDED.test(name) ? name.slice(1) : name;
}

export function plain(input: Json): Json {
  return mapped(input, (name, item) => [plainName(name), item]);
}

export function plainSource(name: string, value: Json): Json {
  return isOwnSource(name, value) && value.startsWith("$") ? value.slice(1) : value;
}

function mapped(value: Json, change: (name: string, item: Json) => readonly [string, Json]): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => mapped(item, change));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => change(name, mapped(item, change))));
}
