import type { Json, Reference } from "./plan.ts";

type Ref = Reference["$ref"];

/** A reference with the place where it stands: `["input", "images", 0]`. */
export interface PlacedReference {
  readonly ref: Ref;
  readonly at: readonly (string | number)[];
}

export function isReference(value: Json): value is Json & { readonly $ref: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "$ref" in value;
}

/** Every reference in an input, in the order it is written. */
export function placedReferences(input: Json, at: readonly (string | number)[] = []): readonly PlacedReference[] {
  if (isReference(input)) return [{ ref: input.$ref as unknown as Ref, at }];
  if (Array.isArray(input)) return input.flatMap((item, index) => placedReferences(item, [...at, index]));
  if (typeof input !== "object" || input === null) return [];
  return Object.entries(input).flatMap(([key, item]) => placedReferences(item as Json, [...at, key]));
}

export function referencesOf(input: Json): readonly Ref[] {
  return placedReferences(input).map(({ ref }) => ref);
}

/** The input with every reference replaced. One to `all` outputs becomes a list, or spreads into the list it stands in. */
export function resolveInput(input: Json, lookup: (ref: Ref) => Json): Json {
  if (isReference(input)) return lookup(input.$ref as unknown as Ref);
  if (Array.isArray(input)) {
    return input.flatMap((item): readonly Json[] => {
      const isAll = isReference(item) && (item.$ref as unknown as Ref).output === "all";
      const resolved = resolveInput(item, lookup);
      return isAll ? (resolved as readonly Json[]) : [resolved];
    });
  }
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(Object.entries(input).map(([key, item]) => [key, resolveInput(item as Json, lookup)]));
}

/** A place as people write it: `input.images[0]`. */
export function fieldPath(at: readonly (string | number)[]): string {
  return at.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`),
    "",
  );
}
