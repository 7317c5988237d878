import { mapRecord } from "./plain-json.ts";
import type { Json, Reference } from "./plan.ts";

type Ref = Reference["$ref"];

/** True for a reference of a planned input. */
export function isReference(value: unknown): value is Reference {
  return typeof value === "object" && value !== null && "$ref" in value;
}

/** Whether a field of an input for the service says what only we say: `{ source: "upload", sha256 }` is a file that is sent. */
export function isOwnSource(name: string, value: unknown): value is string {
  return name === "source" && typeof value === "string" && /^\$*upload$/.test(value);
}

/** Every reference in a planned input, in order of occurrence. */
export function referencesOf(input: Json): readonly Ref[] {
  const found: Ref[] = [];
  visit(input, (ref) => void found.push(ref));
  // A list that grew has room for many more, and a run holds those of every step.
  return found.slice();
}

function visit(value: Json, take: (ref: Ref) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (isReference(value)) return take(value.$ref);
  for (const item of Array.isArray(value) ? value : Object.values(value)) visit(item, take);
}

/**
 * A planned input with every reference replaced by what `lookup` gives for it. A list that `lookup` gives for a
 * reference to all outputs spreads into the list around it; what it gives nothing for drops out of its list or record.
 */
export function resolveInput(input: Json, lookup: (ref: Ref) => Json | undefined): Json {
  return resolve(input, lookup) ?? null;
}

function resolve(input: Json, lookup: (ref: Ref) => Json | undefined): Json | undefined {
  if (typeof input !== "object" || input === null) return input;
  if (isReference(input)) return lookup(input.$ref);
  if (isText(input)) return joinText(input.$text, lookup);
  if (Array.isArray(input)) return input.flatMap((item: Json) => resolveItem(item, lookup));
  return mapRecord<Json, Json>(input as { readonly [key: string]: Json }, (value) => resolve(value, lookup));
}

/** Text with values in it: `{ "$text": ["a picture of ", { "$ref": … }] }`. */
function isText(value: object): value is { readonly $text: readonly Json[] } {
  return "$text" in value && Array.isArray(value.$text);
}

/** Undefined when one of the values is missing. Values that are not text are written as JSON. */
function joinText(pieces: readonly Json[], lookup: (ref: Ref) => Json | undefined): string | undefined {
  let joined = "";
  for (const piece of pieces) {
    const value = resolve(piece, lookup);
    if (value === undefined) return undefined;
    joined += typeof value === "string" ? value : JSON.stringify(value);
  }
  return joined;
}

function resolveItem(item: Json, lookup: (ref: Ref) => Json | undefined): Json | readonly Json[] {
  const resolved = resolve(item, lookup);
  if (resolved === undefined) return [];
  const spreads = isReference(item) && item.$ref.output === "all";
  // flatMap takes one level off: a list that is an item of its own must keep it.
  return spreads || !Array.isArray(resolved) ? resolved : [resolved];
}
