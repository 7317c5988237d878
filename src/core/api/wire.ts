import { z } from "zod";

/** What a field of the service's JSON is here; `Micros` at the end of a name makes micro-dollars of a decimal amount. */
type Shape = Readonly<Record<string, z.ZodType>>;

/** The names of a shape that the rule does not lead to, with those that the service has for them. */
type WireNames<S extends Shape> = { readonly [K in keyof S]?: string };

type Read<S extends Shape> = { readonly [K in keyof S]: z.output<S[K]> };

/** Named by what it reads, so that declarations stay short. */
export interface Field<T> extends z.ZodType<T> {}

/** Named by its shape, so that editors show the comments on its fields, also from the declarations of the package. */
export interface Wire<S extends Shape> extends z.ZodType<Read<S>> {}

/**
 * Reads an object of the service under our names: `createdAt` is its `created_at`, `costMicros` its `cost`. Fields that
 * are not in the shape are left out.
 */
export function wire<S extends Shape>(shape: S, named: WireNames<S> = {}): Wire<S> {
  const names = Object.keys(shape).map((name) => [name, named[name] ?? wireName(name)] as const);
  const fields = z.object(Object.fromEntries(names.map(([name, wireName]) => [wireName, shape[name]!])));
  return fields.transform((found) => {
    const read: Record<string, unknown> = {};
    for (const [name, wireName] of names) read[name] = found[wireName];
    return read as Read<S>;
  });
}

const wireName = (name: string) =>
  name.replace(/Micros$/, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** One page of a list. `nextCursor` is null at the end. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

/** The list wrapper around items of one kind. */
export const pageOf = <T>(item: z.ZodType<T>): z.ZodType<Page<T>> => wire({ data: z.array(item), nextCursor: text });

/** A field that only describes: absent, null or of an unexpected type all read as null. */
export const optional = <T extends z.ZodType>(schema: T): Field<z.output<T> | null> =>
  schema
    .nullish()
    .transform((value) => value ?? null)
    .catch(null);

/** A field with a default that also stands in for null. */
export const withDefault = <T extends z.ZodType>(schema: T, fallback: z.output<T>): Field<z.output<T>> =>
  schema.nullish().transform((value): z.output<T> => value ?? fallback);

/** A list that may be absent. */
export const listOf = <T extends z.ZodType>(item: T): Field<readonly z.output<T>[]> => withDefault(arrayOf(item), []);
export const arrayOf = <T extends z.ZodType>(item: T) => z.array(item) as Field<readonly z.output<T>[]>;

/**
 * Micro-dollars of a decimal amount of dollars (1 USD = 1 000 000), exactly: the decimal digits are shifted instead of
 * multiplied, so 0.29 gives 290000. Digits beyond the sixth are rounded. Returns null for what is no finite amount or
 * does not fit a safe integer.
 */
export function toMicros(amount: number | string): number | null {
  const [digits = "", exponent = "0"] = String(amount).trim().toLowerCase().split("e");
  if (!/^-?\d+(\.\d+)?$/.test(digits) || !/^[+-]?\d+$/.test(exponent)) return null;
  const micros = Math.round(Number(`${digits}e${Number(exponent) + 6}`));
  return Number.isSafeInteger(micros) ? micros + 0 : null;
}

/** A decimal amount of dollars as micro-dollars. Wrong amounts are errors: money is never guessed. */
export const micros: Field<number> = z.union([z.number(), z.string()]).transform((amount, context) => {
  const value = toMicros(amount);
  if (value !== null) return value;
  context.issues.push({ code: "custom", message: "not an amount of money", input: amount });
  return z.NEVER;
});

export const optionalMicros: Field<number | null> = micros.nullish().transform((value) => value ?? null);
export const currency = withDefault(z.string(), "USD");

/** A million dollars: above it no charge is believed, and sums of charges stay safe integers. */
const MOST_MICROS = 1e12;

/** What the service says that something costs. */
export interface Charge {
  /** Micro-dollars; null until it is said, and where what is said cannot be. */
  readonly costMicros: number | null;
  /** As it was said, where that is no amount of US dollars from 0 to a million; else null. */
  readonly impossibleCost: string | null;
}

/** Never throws: one impossible amount must not make the rest of an answer unreadable. */
export function chargeOf({ cost, currency }: { readonly cost?: unknown; readonly currency: string }): Charge {
  if (cost === undefined || cost === null) return { costMicros: null, impossibleCost: null };
  const micros = typeof cost === "number" || typeof cost === "string" ? toMicros(cost) : null;
  const isPossible = micros !== null && micros >= 0 && micros <= MOST_MICROS && /^usd$/i.test(currency);
  if (isPossible) return { costMicros: micros, impossibleCost: null };
  return { costMicros: null, impossibleCost: `${JSON.stringify(cost)} ${currency}`.slice(0, 100) };
}

export const anything = z.unknown().optional();

// The same as `optional` for the most common kinds, but in one step: thousands of answers are read a minute.
export const text: Field<string | null> = anything.transform((value) => (typeof value === "string" ? value : null));
export const number: Field<number | null> = anything.transform((value) =>
  typeof value === "number" && Number.isFinite(value) ? value : null,
);
export const record: Field<Readonly<Record<string, unknown>> | null> = anything.transform((value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null,
);

/** One of the texts that this version knows, or another as it was sent. */
export const anyOf = <T extends string>() => z.string() as z.ZodType<string> as Field<T | (string & {})>;
export const optionalAnyOf = <T extends string>() => text as z.ZodType as Field<T | (string & {}) | null>;
