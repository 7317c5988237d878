import type { Option } from "commander";
import type { values } from "../input/flag-values.ts";

/**
 * A flag's description and the kind of value it takes. `V` is the type of the value, by default inferred from the
 * flag's syntax. `P` is true if the flag always has a value.
 */
export interface Flag<V = unknown, P extends boolean = boolean> {
  readonly description: string;
  /** Never set: it only carries the type `V`. */
  readonly gives?: V;
  readonly isGiven: P;
  adjust(option: Option): Option;
}

/** A command's flags, keyed by their syntax. If only a description is given, the syntax determines the value's type. */
export type FlagTable = { readonly [syntax: string]: string | Flag };

type Camel<N extends string> = N extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : N;
type Word<F extends string> = F extends `${infer First} ${string}` ? First : F;
type Bare<W extends string> = W extends `no-${infer N}` ? N : W extends `-${infer N}` ? Bare<N> : W;
type Name<F extends string> = Camel<Bare<Word<F>>>;
type Typed<F extends string> = F extends `${string}<${infer W}>`
  ? W extends keyof typeof values
    ? ReturnType<(typeof values)[W]>
    : string
  : F extends `${string}[${string}`
    ? string | true
    : boolean;
type Value<F extends string, D> = D extends Flag<infer V> ? (unknown extends V ? Typed<F> : V) : Typed<F>;

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

/** Gives a flag a default value. `typed` is what a user would type for that value. */
export function preset<V>(given: string | Flag<V, false>, typed: string): Flag<V, true> {
  const { description, adjust } = typeof given === "string" ? { description: given } : given;
  return {
    description,
    isGiven: true,
    adjust(option) {
      adjust?.(option);
      return option.default(option.parseArg?.(typed, undefined) ?? typed, typed);
    },
  };
}

export function required(description: string): Flag<unknown, true> {
  return { description, isGiven: true, adjust: (option) => option.makeOptionMandatory() };
}
