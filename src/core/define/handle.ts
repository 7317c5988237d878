import type { FileKind, MediaKind, Yield } from "../plan/plan.ts";

declare const VALUE: unique symbol;

/** The result kind of a handle; `unknown` when the step's model is an untyped id, which only the catalog knows. */
export type Yields = Yield | "unknown";

/**
 * Stands for a result that does not exist yet. Using one inside another step's input is the edge between the two steps.
 * It has no value while the plan is made: text built from one throws.
 */
export interface Handle<Y extends Yields = Yields, F extends "single" | "list" = "single" | "list"> {
  /** Path of the step whose result this is. */
  readonly step: string;
  readonly yields: Y;
  /** `single` is one output; `list` is all of them, and goes where a list goes. */
  readonly form: F;
}

/** One output of a step. */
export interface OutputHandle<Y extends Yields = Yields> extends Handle<Y, "single"> {
  readonly index: number;
}

/** All outputs of a step, in order. Within a list of an input it spreads. */
export interface OutputsHandle<Y extends Yields = Yields> extends Handle<Y, "list"> {}

/**
 * A paid job. Stands for its output where it makes just one. `N` is the most outputs that its model makes, `I` the input of
 * its model.
 */
export interface JobHandle<Y extends Yields = Yields, N extends number = number, I = unknown>
  extends Handle<Y, "single"> {
  /** One output, counted from 0. */
  output(index: IndexBelow<N>): OutputHandle<Y>;
  /** All outputs, as a list. */
  outputs(): OutputsHandle<Y>;
  /**
   * A field that the job is asked with, for the input of another step: captions that take the `text` of what is spoken say
   * what is said, also once somebody edited it for a run.
   */
  input<K extends keyof I & string>(field: K): Value<Exclude<I[K], undefined>>;
}

/** A local file on its way to the service. */
export interface UploadHandle<K extends MediaKind | "unknown" = MediaKind | "unknown"> extends Handle<K, "single"> {
  readonly file: string;
}

/** An asset that the account owns already. */
export interface AssetHandle<K extends MediaKind = MediaKind> extends Handle<K, "single"> {
  readonly assetId: string;
}

/** Where an input takes a JSON value that a step yields: the handle of one. */
export interface Value<T = unknown> {
  readonly step: string;
  readonly yields: "value";
  readonly form: "single";
  /** Carries the type only; there is no such property. */
  readonly [VALUE]?: T | undefined;
}

/** Where an input takes a value, written down or yielded by a step. */
export type OrValue<T> = T | Value<T>;

/** A JSON value that a chat or a task yields. It exists once the step has finished: `` text`A ${value}` `` puts it into text. */
export interface ValueHandle<T = unknown> extends Handle<"value", "single"> {
  readonly [VALUE]?: T | undefined;
  /** A place inside the value: a field by its name, an item of a list by its number. */
  at<K extends KeyIn<T>>(key: K): ValueHandle<PartOf<T, K>>;
}

/** Several values, in order; goes where a list goes. */
export interface ValuesHandle<T = unknown> extends Handle<"value", "list"> {
  readonly [VALUE]?: T | undefined;
}

/** Names and positions that {@link ValueHandle.at} takes for a value of this type. */
export type KeyIn<T> = unknown extends T
  ? string | number
  : T extends readonly unknown[]
    ? number
    : T extends object
      ? keyof T & string
      : never;

/** The type of a part of a value. */
export type PartOf<T, K> = unknown extends T
  ? unknown
  : T extends readonly (infer E)[]
    ? E
    : T extends object
      ? K extends keyof T
        ? Exclude<T[K], undefined>
        : never
      : never;

/** A local function with one declared file; the handle resolves to it. */
export interface FileTaskHandle<T, F extends TaskFiles> extends Handle<F[keyof F], "single">, TaskParts<T, F> {}

/** A local function with several declared files; the handle resolves to the list of them. */
export interface FilesTaskHandle<T, F extends TaskFiles> extends Handle<F[keyof F], "list">, TaskParts<T, F> {}

/** A local function that yields a value only. */
export interface ValueTaskHandle<T> extends ValueHandle<T> {
  /** The same; every task has it. */
  readonly value: ValueHandle<T>;
}

interface TaskParts<T, F extends TaskFiles> {
  /** A declared file. */
  file<N extends keyof F & string>(name: N): OutputHandle<F[N]>;
  /** What the function returned. */
  readonly value: ValueHandle<T>;
}

/** Files that a task declares: names to kinds. */
export type TaskFiles = { readonly [name: string]: FileKind };

export type TaskHandle<T, F extends TaskFiles> = keyof F extends never
  ? ValueTaskHandle<T>
  : IsUnion<keyof F> extends true
    ? FilesTaskHandle<T, F>
    : FileTaskHandle<T, F>;

type IsUnion<T, All = T> = T extends unknown ? ([All] extends [T] ? false : true) : never;

/** Several takes of one job: the chosen one, and all. `I`: the input of its model. */
export interface TakesHandle<Y extends Yields = Yields, I = unknown> extends Handle<Y, "single"> {
  /** Every take, as a list. */
  outputs(): OutputsHandle<Y>;
  /** A field that every take is asked with, as {@link JobHandle.input}; each has a `seed` of its own. */
  input<K extends Exclude<keyof I & string, "seed">>(field: K): Value<Exclude<I[K], undefined>>;
}

/** The result of an expansion: the list of what its function returned. */
export interface ExpandHandle<Y extends Yields = Yields> extends Handle<Y, "list"> {
  /** One of them, counted from 0. */
  output(index: number): OutputHandle<Y>;
}

/** Where an input takes media of a kind: any handle of one such output; of a file on this machine, that of `upload`. */
export interface Media<K extends MediaKind> {
  readonly step: string;
  readonly yields: K | "unknown";
  readonly form: "single";
}

/** All outputs of a step, where an input takes a list of media. */
export interface AllMedia<K extends MediaKind> {
  readonly step: string;
  readonly yields: K | "unknown";
  readonly form: "list";
}

/** Where an input takes a list of media: handles, `.outputs()`, or both. */
export type MediaList<K extends MediaKind> = AllMedia<K> | readonly (Media<K> | AllMedia<K>)[];

/** A voice that a step makes. */
export interface VoiceOutput {
  readonly step: string;
  readonly yields: "voice" | "unknown";
  readonly form: "single";
}

/** Where an input takes a voice: the id of one, written down or as a value, or the handle of a step that makes one. */
export type Voice = string | VoiceOutput | Value<string>;

type Count<N extends number, Indexes extends readonly number[] = []> = Indexes["length"] extends N
  ? Indexes[number]
  : Indexes["length"] extends 32
    ? number
    : Count<N, readonly [...Indexes, Indexes["length"]]>;

/** 0 | 1 | … | N-1; any number when N is not a known small number. */
export type IndexBelow<N extends number> = number extends N ? number : Count<N>;
