import { mapRecord } from "./plain-json.ts";
import type { Json, Reference } from "./plan.ts";

type Ref = Reference["$ref"];

export function isReference(value: unknown): value is Reference {
  return typeof value === "object" && value !== null && "$ref" in value;
}

/** Recognizes the `source` of `{ source: "upload", sha256 }`, which stands for a file to upload. */
export function isOwnSource(name: string, value: unknown): value is string {
  return name === "source" && typeof value === "string" && /^\$*upload$/.test(value);
}

export function referencesOf(input: Json): readonly Ref[] {
  const found: Ref[] = [];
  visit(input, (ref) => void found.push(ref));
  // Trims spare capacity, because a run keeps the lists of every step.
  return found.slice();
}

function visit(value: Json, take: (ref: Ref) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (isReference(value)) return take(value.$ref);
  for (const item of Array.isArray(value) ? value : Object.values(value)) visit(item, take);
}

/** Replaces each reference with what `lookup` returns. Lists are spread, and undefined is dropped. */
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

function isText(value: object): value is { readonly $text: readonly Json[] } {
  return "$text" in value && Array.isArray(value.$text);
}

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
  // flatMap flattens one level, so a list that is an item must be wrapped.
  return spreads || !Array.isArray(resolved) ? resolved : [resolved];
}
