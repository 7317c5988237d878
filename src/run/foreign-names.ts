import type { Json } from "../plan/plan.ts";

/** Of a resolved input: what is named so is a stored file. */
const OWN = /^\$+file$/;
const GUARDED = /^\$\$+file$/;

/** A value of others, such as a model's answer, in which no field is named like our files: each such name gets one more `$`. */
export function guarded(value: Json): Json {
  return renamed(value, (name) => (OWN.test(name) ? `$${name}` : name));
}

/** A field's name as its author wrote it, for who reads a resolved input. */
export function plainName(name: string): string {
  return GUARDED.test(name) ? name.slice(1) : name;
}

/** A resolved input without files, with each field named as its author wrote it. */
export function plain(input: Json): Json {
  return renamed(input, plainName);
}

function renamed(value: Json, nameOf: (name: string) => string): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => renamed(item, nameOf));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [nameOf(name), renamed(item, nameOf)]));
}
