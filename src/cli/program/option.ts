import { InvalidArgumentError, type Option } from "commander";

/** `V` is the type of the option's value, and `P` is true if it always has one. */
export interface Flag<F extends string = string, V = unknown, P extends boolean = boolean> {
  readonly flags: F;
  readonly description: string;
  /** Never set: it only carries the type `V`. */
  readonly gives?: V;
  readonly isGiven: P;
  readonly adjust?: (option: Option) => Option;
}

type Camel<N extends string> = N extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : N;
type Word<F extends string> = F extends `${infer First} ${string}` ? First : F;
type Bare<W extends string> = W extends `no-${infer N}` ? N : W extends `-${infer N}` ? Bare<N> : W;
type Given<F extends string> = F extends `${string}<${string}`
  ? string
  : F extends `${string}[${string}`
    ? string | true
    : boolean;

export type FlagsOf<O extends Flag> = {
  readonly [One in Extract<O, { isGiven: false }> as Camel<Bare<Word<One["flags"]>>>]?: One["gives"] | undefined;
} & {
  readonly [One in Extract<O, { isGiven: true }> as Camel<Bare<Word<One["flags"]>>>]: NonNullable<One["gives"]>;
};

export function flag<F extends string>(flags: F, description: string): Flag<F, Given<F>, false> {
  return { flags, description, isGiven: false };
}

export function list<F extends string>(flags: F, description: string): Flag<F, readonly string[], false> {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  return { flags, description, isGiven: false, adjust: (option) => option.argParser(collect) };
}

export function choice<F extends string, const V extends string>(
  flags: F,
  description: string,
  values: readonly V[],
): Flag<F, V, false> {
  return { flags, description, isGiven: false, adjust: (option) => option.choices(values) };
}

export function preset<F extends string, V>(one: Flag<F, V, false>, value: V & string): Flag<F, V, true> {
  return { ...one, isGiven: true, adjust: (option) => (one.adjust?.(option) ?? option).default(value) };
}

export function required<F extends string, V>(one: Flag<F, V, false>): Flag<F, V, true> {
  return { ...one, isGiven: true, adjust: (option) => option.makeOptionMandatory() };
}

/** Rejects an empty address, because that would listen on all interfaces. */
export function host(description: string): Flag<"--host <address>", string, false> {
  const parse = (given: string) => {
    if (given.trim() !== "") return given;
    throw new InvalidArgumentError("Give an address, or omit --host.");
  };
  return { flags: "--host <address>", description, isGiven: false, adjust: (option) => option.argParser(parse) };
}
