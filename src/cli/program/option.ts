import type { Option } from "commander";

/** A flag's description and its kind of value. `V` is the type of the value, and `P` is true if it always has one. */
export interface Flag<V = unknown, P extends boolean = boolean> {
  readonly description: string;
  /** Never set: it only carries the type `V`. */
  readonly gives?: V;
  readonly isGiven: P;
  adjust(option: Option): Option;
}

/**
 * Flags, keyed by their syntax. If only a description is given, the flag takes a string if its syntax names a value,
 * and is a boolean otherwise.
 */
export type FlagTable = { readonly [syntax: string]: string | Flag };

type Camel<N extends string> = N extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : N;
type Word<F extends string> = F extends `${infer First} ${string}` ? First : F;
type Bare<W extends string> = W extends `no-${infer N}` ? N : W extends `-${infer N}` ? Bare<N> : W;
type Name<F extends string> = Camel<Bare<Word<F>>>;
type Text<F extends string> = F extends `${string}<${string}`
  ? string
  : F extends `${string}[${string}`
    ? string | true
    : boolean;
type Value<F extends string, D> = D extends Flag<infer V> ? V : Text<F>;

export type FlagsOf<T extends FlagTable> = {
  readonly [F in keyof T & string as T[F] extends Flag<unknown, true> ? never : Name<F>]?: Value<F, T[F]> | undefined;
} & {
  readonly [F in keyof T & string as T[F] extends Flag<unknown, true> ? Name<F> : never]: Value<F, T[F]>;
};

export function list(description: string): Flag<readonly string[], false> {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  return { description, isGiven: false, adjust: (option) => option.argParser(collect) };
}

export function choice<const V extends string>(description: string, values: readonly V[]): Flag<V, false> {
  return { description, isGiven: false, adjust: (option) => option.choices(values) };
}

export function preset<V extends string>(given: string | Flag<V, false>, value: V): Flag<V, true> {
  const one = typeof given === "string" ? { description: given, adjust: (option: Option) => option } : given;
  return { ...one, isGiven: true, adjust: (option) => one.adjust(option).default(value) };
}

export function required(description: string): Flag<string, true> {
  return { description, isGiven: true, adjust: (option) => option.makeOptionMandatory() };
}
