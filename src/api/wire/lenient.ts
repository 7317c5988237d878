import { z } from "zod";
import { toMicros } from "../money.ts";

/** One page of a list. `nextCursor` is null at the end. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

/** The list wrapper around items of one kind. */
export const pageOf = <T>(item: z.ZodType<T>) =>
  z
    .object({ data: z.array(item), next_cursor: text })
    .transform((wire): Page<T> => ({ data: wire.data, nextCursor: wire.next_cursor }));

/** A field that only describes: absent, null or of an unexpected type all read as null. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .transform((value) => value ?? null)
    .catch(null);

/** A field with a default that also stands in for null. */
export const withDefault = <T extends z.ZodType>(schema: T, fallback: z.output<T>) =>
  schema.nullish().transform((value): z.output<T> => value ?? fallback);

/** A list that may be absent. */
export const listOf = <T extends z.ZodType>(item: T) => withDefault(z.array(item), []);

/** A decimal amount of dollars as micro-dollars. Wrong amounts are errors: money is never guessed. */
export const micros = z.union([z.number(), z.string()]).transform((amount, context) => {
  const value = toMicros(amount);
  if (value !== null) return value;
  context.issues.push({ code: "custom", message: "not an amount of money", input: amount });
  return z.NEVER;
});

export const optionalMicros = micros.nullish().transform((value) => value ?? null);
export const currency = withDefault(z.string(), "USD");

const anything = z.unknown().optional();

// The same as `optional` for the most common kinds, but in one step: thousands of answers are read a minute.
export const text = anything.transform((value) => (typeof value === "string" ? value : null));
export const integer = anything.transform((value) =>
  typeof value === "number" && Number.isFinite(value) ? value : null,
);
export const record = anything.transform((value): Record<string, unknown> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null,
);
