import type { DraftJson, FileKind, MediaKind, Yield } from "../plan/plan.ts";
import { HandleMisuseError } from "./errors.ts";

declare const VALUE: unique symbol;

/** The kind of a handle's result. `unknown` if the model is a plain id, because only the catalog knows its kind. */
export type Yields = Yield | "unknown";

/**
 * Stands for a result that does not exist yet. A step that uses a handle depends on the step that makes the result.
 * While the plan is made, a handle has no value, and using it in a template string throws an error.
 */
export interface Handle<Y extends Yields = Yields, F extends "single" | "list" = "single" | "list"> {
  /** Path of the step that produces the result. */
  readonly step: string;
  readonly yields: Y;
  /** `single` for one output, `list` for all outputs of a step. */
  readonly form: F;
}

/** One output of a step. */
export interface OutputHandle<Y extends Yields = Yields> extends Handle<Y, "single"> {
  readonly index: number;
}

/**
 * All outputs of a step, in order. If a list in an input contains this handle, each output becomes an item of the list.
 */
export interface OutputsHandle<Y extends Yields = Yields> extends Handle<Y, "list"> {}

/**
 * The handle of a paid job. If the model makes only one output, the handle stands for that output. `N` is the model's
 * maximum number of outputs, and `I` is the type of its input.
 */
export interface JobHandle<Y extends Yields = Yields, N extends number = number, I = unknown>
  extends Handle<Y, "single"> {
  /** Returns the handle of one output. Outputs are counted from 0. */
  output(index: IndexBelow<N>): OutputHandle<Y>;
  /** Returns a handle to the list of all outputs. */
  outputs(): OutputsHandle<Y>;
  /**
   * Refers to a field of this job's input. A step that uses the reference gets the field's current value, even after
   * edits.
   */
  input<K extends keyof I & string>(field: K): Value<Exclude<I[K], undefined>>;
}

/** The handle of an `upload` step's file. */
export interface UploadHandle<K extends MediaKind | "unknown" = MediaKind | "unknown"> extends Handle<K, "single"> {
  readonly file: string;
}

/** The handle of an asset that the account already owns. */
export interface AssetHandle<K extends MediaKind = MediaKind> extends Handle<K, "single"> {
  readonly assetId: string;
}

/** A JSON value that another step produces. Inputs accept it in place of a literal value. */
export interface Value<T = unknown> {
  readonly step: string;
  readonly yields: "value";
  readonly form: "single";
  /** Carries the type `T` for type checking. The property is never set. */
  readonly [VALUE]?: T | undefined;
}

/** A value, or the handle of a step that produces one. */
export type OrValue<T> = T | Value<T>;

/** The handle of a JSON value that a chat or a task produces. Use `` text`A ${value}` `` to insert it into text. */
export interface ValueHandle<T = unknown> extends Handle<"value", "single"> {
  readonly [VALUE]?: T | undefined;
  /** Selects a part of the value: a field by its name, or a list item by its position. */
  at<K extends KeyIn<T>>(key: K): ValueHandle<PartOf<T, K>>;
}

/** Several values, in order. Accepted wherever an input takes a list. */
export interface ValuesHandle<T = unknown> extends Handle<"value", "list"> {
  readonly [VALUE]?: T | undefined;
}

/** The names and positions that {@link ValueHandle.at} accepts for a value of this type. */
export type KeyIn<T> = unknown extends T
  ? string | number
  : T extends readonly unknown[]
    ? number
    : T extends object
      ? keyof T & string
      : never;

export type PartOf<T, K> = unknown extends T
  ? unknown
  : T extends readonly (infer E)[]
    ? E
    : T extends object
      ? K extends keyof T
        ? Exclude<T[K], undefined>
        : never
      : never;

/** The handle of a local function with one declared file. It stands for that file. */
export interface FileTaskHandle<T, F extends TaskFiles> extends Handle<F[keyof F], "single">, TaskParts<T, F> {}

/** The handle of a local function with several declared files. It stands for the list of those files. */
export interface FilesTaskHandle<T, F extends TaskFiles> extends Handle<F[keyof F], "list">, TaskParts<T, F> {}

/** The handle of a local function that declares no files. It stands for the function's return value. */
export interface ValueTaskHandle<T> extends ValueHandle<T> {
  /** The function's return value. */
  readonly value: ValueHandle<T>;
}

interface TaskParts<T, F extends TaskFiles> {
  /** Returns the handle of a declared file. */
  file<N extends keyof F & string>(name: N): OutputHandle<F[N]>;
  /** The function's return value. */
  readonly value: ValueHandle<T>;
}

/** The kinds of the files that a task declares, keyed by file name. */
export type TaskFiles = { readonly [name: string]: FileKind };

/** The handle of a task. Depending on `F`, it stands for the value, the only file, or the list of files. */
export type TaskHandle<T, F extends TaskFiles> = keyof F extends never
  ? ValueTaskHandle<T>
  : IsUnion<keyof F> extends true
    ? FilesTaskHandle<T, F>
    : FileTaskHandle<T, F>;

type IsUnion<T, All = T> = T extends unknown ? ([All] extends [T] ? false : true) : never;

/** The handle of several takes of one job. It stands for the chosen take. `I` is the type of the model's input. */
export interface TakesHandle<Y extends Yields = Yields, I = unknown> extends Handle<Y, "single"> {
  /** Returns the handle of the list of all takes. */
  outputs(): OutputsHandle<Y>;
  /**
   * Refers to a field of the takes' input, like {@link JobHandle.input}. `seed` is not allowed, because each take has
   * its own seed.
   */
  input<K extends Exclude<keyof I & string, "seed">>(field: K): Value<Exclude<I[K], undefined>>;
}

/** The handle of an expansion. It stands for the list of results that the expansion's function returned. */
export interface ExpandHandle<Y extends Yields = Yields> extends Handle<Y, "list"> {
  /** Returns the handle of the result at this index, starting at 0. */
  output(index: number): OutputHandle<Y>;
}

/** One media file for an input: the handle of a step's output or of an `upload` step. */
export interface Media<K extends MediaKind> {
  readonly step: string;
  readonly yields: K | "unknown";
  readonly form: "single";
}

/** All outputs of a step, for an input that takes a list of media. */
export interface AllMedia<K extends MediaKind> {
  readonly step: string;
  readonly yields: K | "unknown";
  readonly form: "list";
}

/** A list of media for an input: handles, `.outputs()`, or both. */
export type MediaList<K extends MediaKind> = AllMedia<K> | readonly (Media<K> | AllMedia<K>)[];

/** A voice that a step creates. */
export interface VoiceOutput {
  readonly step: string;
  readonly yields: "voice" | "unknown";
  readonly form: "single";
}

/** A voice for an input: a voice id, a value that contains a voice id, or the handle of a step that creates a voice. */
export type Voice = string | VoiceOutput | Value<string>;

type Count<N extends number, Indexes extends readonly number[] = []> = Indexes["length"] extends N
  ? Indexes[number]
  : Indexes["length"] extends 32
    ? number
    : Count<N, readonly [...Indexes, Indexes["length"]]>;

/** `0 | 1 | … | N-1`, or `number` if N is not a known small number. */
export type IndexBelow<N extends number> = number extends N ? number : Count<N>;

/**
 * Key of the property that holds a handle's pointer. All copies of this module share the symbol, so that they recognize
 * each other's handles.
 */
const POINTER = Symbol.for("showrunner.handle");

/** One call of `build`. It may use its own handles and those of `within`, the enclosing call. */
export interface Build {
  readonly within: Build | null;
}

type Key = string | number;

/**
 * Points to one output of a step, to all of its outputs, or to its value. `single` means the only output of a step that
 * has exactly one.
 */
export interface StepPointer {
  readonly to: "step";
  readonly step: string;
  readonly output: number | "all" | "single" | "value";
  readonly at?: readonly Key[];
  readonly build: Build;
}

export type Pointer =
  | StepPointer
  | { readonly to: "several"; readonly pointers: readonly StepPointer[]; readonly step: string }
  | { readonly to: "text"; readonly pieces: readonly unknown[] }
  | {
      readonly to: "input";
      readonly step: string;
      readonly field: string;
      readonly value: DraftJson | undefined;
      readonly build: Build;
    }
  | { readonly to: "asset"; readonly assetId: string; readonly kind: MediaKind };

interface Marked {
  readonly [POINTER]: Pointer;
}

export function pointerOf(value: unknown): Pointer | null {
  const mayBe = (typeof value === "object" && value !== null) || typeof value === "function";
  return mayBe && POINTER in value ? (value as Marked)[POINTER] : null;
}

export function isListPointer(pointer: Pointer | null): boolean {
  return pointer?.to === "several" || (pointer?.to === "step" && pointer.output === "all");
}

class Unresolved {
  declare readonly step: string;

  toString(): never {
    throw new HandleMisuseError(this.step);
  }

  toJSON(): never {
    throw new HandleMisuseError(this.step);
  }

  [Symbol.toPrimitive](): never {
    throw new HandleMisuseError(this.step);
  }
}

export function mark<H extends Handle>(facts: Omit<H, "toString">, pointer: Pointer): H {
  const handle = Object.assign(new Unresolved(), facts);
  pointAt(handle, pointer);
  return Object.freeze(handle) as unknown as H;
}

function pointAt(handle: object, pointer: Pointer): void {
  Object.defineProperty(handle, POINTER, { value: pointer, enumerable: false });
}

export function jobHandle<Y extends Yields, N extends number, I = unknown>(
  step: string,
  yields: Y,
  { build, input }: { readonly build: Build; readonly input: DraftJson },
): JobHandle<Y, N, I> {
  return mark<JobHandle<Y, N, I>>(
    {
      step,
      yields,
      form: "single",
      output: (index: number) => outputHandle({ step, yields, index, build }),
      outputs: () => mark<OutputsHandle<Y>>({ step, yields, form: "list" }, { to: "step", step, output: "all", build }),
      input: fieldsOf(step, { build, input }) as JobHandle<Y, N, I>["input"],
    },
    { to: "step", step, output: "single", build },
  );
}

/** Returns the function that implements `handle.input(field)`. */
export function fieldsOf(step: string, { build, input }: { readonly build: Build; readonly input: DraftJson }) {
  return (field: string) => {
    const isThere = typeof input === "object" && input !== null && Object.hasOwn(input, field);
    const value = isThere ? (input as { readonly [name: string]: DraftJson })[field] : undefined;
    return mark<Value>({ step, yields: "value", form: "single" }, { to: "input", step, field, value, build });
  };
}

export function outputHandle<Y extends Yields>(at: {
  readonly step: string;
  readonly yields: Y;
  readonly index: number;
  readonly build: Build;
}): OutputHandle<Y> {
  const { step, yields, index, build } = at;
  return mark<OutputHandle<Y>>({ step, yields, form: "single", index }, { to: "step", step, output: index, build });
}

export function uploadHandle<K extends MediaKind | "unknown">(
  step: string,
  yields: K,
  from: { readonly file: string; readonly build: Build },
): UploadHandle<K> {
  const pointer: Pointer = { to: "step", step, output: "single", build: from.build };
  return mark<UploadHandle<K>>({ step, yields, form: "single", file: from.file }, pointer);
}

export function valueHandle<T>(step: string, build: Build, at: readonly Key[] = []): ValueHandle<T> {
  const pointer: Pointer = { to: "step", step, output: "value", build, ...(at.length > 0 && { at }) };
  const further = (key: Key) => valueHandle(step, build, [...at, key]);
  return mark<ValueHandle<T>>({ step, yields: "value", form: "single", at: further } as ValueHandle<T>, pointer);
}

export function chosenHandle<Y extends Yields>(step: string, yields: Y, build: Build): Handle<Y, "single"> {
  return mark<Handle<Y, "single">>({ step, yields, form: "single" }, { to: "step", step, output: "single", build });
}

export function takesHandle<Y extends Yields, I = unknown>(
  step: string,
  yields: Y,
  takes: { readonly pointers: readonly StepPointer[]; readonly build: Build; readonly input: DraftJson },
): TakesHandle<Y, I> {
  const { pointers, build } = takes;
  const outputs = () => mark<OutputsHandle<Y>>({ step, yields, form: "list" }, { to: "several", step, pointers });
  const input = fieldsOf(pointers[0]!.step, takes) as TakesHandle<Y, I>["input"];
  const pointer: Pointer = { to: "step", step, output: "single", build };
  return mark<TakesHandle<Y, I>>({ step, yields, form: "single", outputs, input }, pointer);
}

export function expandHandle<Y extends Yields>(step: string, yields: Y, build: Build): ExpandHandle<Y> {
  const output = (index: number) => outputHandle({ step, yields, index, build });
  return mark<ExpandHandle<Y>>({ step, yields, form: "list", output }, { to: "step", step, output: "all", build });
}

export function knownText(value: unknown): string | null {
  const pointer = pointerOf(value);
  const known = pointer?.to === "input" ? pointer.value : value;
  return typeof known === "string" ? known : null;
}

export function textHandle(pieces: readonly unknown[]): Value<string> {
  return mark<Value<string>>({ step: "text", yields: "value", form: "single" }, { to: "text", pieces });
}

/**
 * Returns the handle of an asset that the account already owns, such as an output of an earlier run. `assetId` is an
 * `asset_…` id from a job's `outputs[]`.
 */
export function asset<K extends MediaKind>(kind: K, assetId: string): AssetHandle<K> {
  const facts = { step: `asset ${assetId}`, yields: kind, form: "single", assetId } as const;
  return mark<AssetHandle<K>>(facts, { to: "asset", assetId, kind });
}

/** Returns a placeholder for the result of an invalid step, so that the build can find more mistakes. */
export function recoveryHandle(step: string, build: Build): unknown {
  const target = () => undefined;
  pointAt(target, { to: "step", step, output: "single", build });
  const created: unknown = new Proxy(target, {
    apply: () => created,
    get(_, key) {
      if (key === Symbol.iterator) return () => [][Symbol.iterator]();
      if (key === "step") return step;
      if (key === "yields") return "unknown";
      if (key === "form") return "single";
      return typeof key === "symbol" ? Reflect.get(target, key) : created;
    },
  });
  return created;
}
