import type { z } from "zod";
import { didYouMean } from "../plan/suggest.ts";
import { fieldPath } from "./steps/include.ts";

interface Misnamed {
  readonly field: string;
  readonly message: string;
}

/** What of zod's definitions is read; the schema may come from another copy of zod. */
interface Definition {
  readonly type: string;
  readonly shape?: { readonly [field: string]: z.ZodType };
  /** Set where an object says what becomes of further fields. */
  readonly catchall?: unknown;
  readonly element?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
}

/**
 * Fields of an input that its schema has no name for. Zod leaves them out in silence, and a misspelt optional field would pay
 * for something else than was meant. `z.looseObject` takes any field.
 */
export function unknownFields(
  schema: z.ZodType,
  value: unknown,
  path: readonly (string | number)[] = [],
): readonly Misnamed[] {
  const definition = (schema as { readonly _zod?: { readonly def: unknown } })._zod?.def as Definition | undefined;
  const { shape, catchall, element } = definition ?? {};
  const inner = definition?.type === "pipe" ? definition.in : definition?.innerType;
  if (inner !== undefined) return unknownFields(inner, value, path);
  if (Array.isArray(value) && element !== undefined)
    return value.flatMap((item, index) => unknownFields(element, item, [...path, index]));
  if (shape === undefined || typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field !== undefined) return unknownFields(field, one, [...path, key]);
    if (catchall !== undefined) return [];
    const names = Object.keys(shape);
    const hint = didYouMean(key, names) ?? (names.length === 0 ? "it has none" : `it has ${names.join(", ")}`);
    return [{ field: fieldPath("input", [...path, key]), message: `the input has no such field; ${hint}` }];
  });
}

/** What JSON holds as it was parsed. */
const PLAIN = new Set(["string", "number", "boolean", "enum", "literal", "null", "object", "array"]);

/** Whether what the schema has at a path parses to itself, or is not there at all: no transform on the way to it. */
export function isPlainAt(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): boolean {
  const definition = (schema as { readonly _zod?: { readonly def: unknown } })._zod?.def as Definition | undefined;
  if (value === undefined) return true;
  if (definition?.innerType !== undefined) return isPlainAt(definition.innerType, path, value);
  if (definition === undefined || !PLAIN.has(definition.type)) return false;
  const [key, ...rest] = path;
  if (key === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  const within = Array.isArray(value) ? definition.element : definition.shape?.[String(key)];
  return within !== undefined && isPlainAt(within, rest, (value as { readonly [key: PropertyKey]: unknown })[key]);
}
