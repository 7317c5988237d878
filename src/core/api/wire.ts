import { z } from "zod";

/** The client's field names and their schemas. */
type Shape = Readonly<Record<string, z.ZodType>>;

/** The service's field names that {@link wireName} would get wrong. */
type WireNames<S extends Shape> = { readonly [K in keyof S]?: string };

type Read<S extends Shape> = { readonly [K in keyof S]: z.output<S[K]> };

/** A schema that is typed only by its result, which keeps type declarations short. */
export interface Field<T> extends z.ZodType<T> {}

/** A schema whose TypeScript type preserves its fields, so that editors show the comment of each field. */
export interface Wire<S extends Shape> extends z.ZodType<Read<S>> {}

/** Creates a schema that renames the service's fields, such as `created_at` to `createdAt`, and drops unknown ones. */
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

/** One page of a list. `nextCursor` is null on the last page. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

export const pageOf = <T>(item: z.ZodType<T>): z.ZodType<Page<T>> => wire({ data: z.array(item), nextCursor: text });

// The schemas of all responses are built when the package is imported, so these two wrap a schema in few objects.
/** Wraps a schema so that an absent or invalid field becomes null. */
export const optional = <T extends z.ZodType>(schema: T): Field<z.output<T> | null> =>
  z.transform((value: unknown) => {
    if (value === undefined || value === null) return null;
    const read = schema.safeParse(value);
    return read.success ? read.data : null;
  });

/** Wraps a schema so that an absent field gets a default. */
export const withDefault = <T extends z.ZodType>(schema: T, fallback: z.output<T>): Field<z.output<T>> =>
  z.pipe(z.transform((value: unknown) => value ?? fallback) as z.ZodType, schema);

export const listOf = <T extends z.ZodType>(item: T): Field<readonly z.output<T>[]> => withDefault(arrayOf(item), []);
export const arrayOf = <T extends z.ZodType>(item: T) => z.array(item) as Field<readonly z.output<T>[]>;

/** Converts dollars to micro-dollars (1 USD = 1,000,000). Returns null if the amount is not a number or too large. */
export function toMicros(amount: number | string): number | null {
  const [digits = "", exponent = "0"] = String(amount).trim().toLowerCase().split("e");
  if (!/^-?\d+(\.\d+)?$/.test(digits) || !/^[+-]?\d+$/.test(exponent)) return null;
  const micros = Math.round(Number(`${digits}e${Number(exponent) + 6}`));
  return Number.isSafeInteger(micros) ? micros + 0 : null;
}

export const micros: Field<number> = z.union([z.number(), z.string()]).transform((amount, context) => {
  const value = toMicros(amount);
  if (value !== null) return value;
  context.issues.push({ code: "custom", message: "not an amount of money", input: amount });
  return z.NEVER;
});

export const optionalMicros: Field<number | null> = micros.nullish().transform((value) => value ?? null);
export const currency = withDefault(z.string(), "USD");

const MOST_MICROS = 1e12;

/** A price or charge as the service reports it. */
export interface Charge {
  /** Cost in micro-dollars; null if it is unknown or implausible. */
  readonly costMicros: number | null;
  /** The reported cost if it is implausible; otherwise null. */
  readonly impossibleCost: string | null;
}

/** Reads a charge. Never throws, so that the rest of the response stays readable. */
export function chargeOf({ cost, currency }: { readonly cost?: unknown; readonly currency: string }): Charge {
  if (cost === undefined || cost === null) return { costMicros: null, impossibleCost: null };
  const micros = typeof cost === "number" || typeof cost === "string" ? toMicros(cost) : null;
  const isPossible = micros !== null && micros >= 0 && micros <= MOST_MICROS && /^usd$/i.test(currency);
  if (isPossible) return { costMicros: micros, impossibleCost: null };
  return { costMicros: null, impossibleCost: `${JSON.stringify(cost)} ${currency}`.slice(0, 100) };
}

export const anything = z.unknown().optional();

// These do the same as `optional`, but faster.
export const text: Field<string | null> = anything.transform((value) => (typeof value === "string" ? value : null));
export const number: Field<number | null> = anything.transform((value) =>
  typeof value === "number" && Number.isFinite(value) ? value : null,
);
export const record: Field<Readonly<Record<string, unknown>> | null> = anything.transform((value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null,
);

export const anyOf = <T extends string>() => z.string() as z.ZodType<string> as Field<T | (string & {})>;
export const optionalAnyOf = <T extends string>() => text as z.ZodType as Field<T | (string & {}) | null>;
