import { isOwnSource } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";

/** Of a resolved input: what is named so is a stored file. */
const OWN = /^\$+file$/;
const GUARDED = /^\$\$+file$/;

/** A value of others, such as a model's answer, in which no field is named like our files: each such name gets one more `$`. */
export function guarded(value: Json): Json {
  return mapped(value, (name, item) => [OWN.test(name) ? `$${name}` : name, item]);
}

/** A value of others in which nothing looks like a file that was sent, or the bytes of another run would go to the service. */
export function guardedSources(value: Json): Json {
  return mapped(value, (name, item) => [name, isOwnSource(name, item) ? `$${item}` : item]);
}

/** A field's name as its author wrote it, for who reads a resolved input. */
export function plainName(name: string): string {
  return GUARDED.test(name) ? name.slice(1) : name;
}

/** A resolved input without files, with each field named as its author wrote it. */
export function plain(input: Json): Json {
  return mapped(input, (name, item) => [plainName(name), item]);
}

/** A field's value as its author wrote it, for the service. */
export function plainSource(name: string, value: Json): Json {
  return isOwnSource(name, value) && value.startsWith("$") ? value.slice(1) : value;
}

function mapped(value: Json, change: (name: string, item: Json) => readonly [string, Json]): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => mapped(item, change));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => change(name, mapped(item, change))));
}
