import type { DraftJson } from "../plan/draft.ts";
import type { FileKind, MediaKind, Yield } from "../plan/plan.ts";
import { HandleMisuseError } from "./errors.ts";

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

/** Shared by all copies of this module in a process, so that a handle is known wherever it comes from. */
const POINTER = Symbol.for("showrunner.handle");

/** Identity of a build; that of an expansion has the one around it as `within`, whose handles it may use. */
export interface Build {
  readonly within: Build | null;
}

type Key = string | number;

/** A pointer at a result of a step. `single` is the one output of a step that makes one. */
export interface StepPointer {
  readonly to: "step";
  readonly step: string;
  readonly output: number | "all" | "single" | "value";
  readonly at?: readonly Key[];
  /** Identity of the build that created it. */
  readonly build: Build;
}

/** What a handle points at. */
export type Pointer =
  | StepPointer
  | { readonly to: "several"; readonly pointers: readonly StepPointer[]; readonly step: string }
  | { readonly to: "text"; readonly pieces: readonly unknown[] }
  /** A field of what a step is asked with. `value`: as the build wrote it; undefined: there is no such field. */
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

/** The pointer of a handle; null for every other value. */
export function pointerOf(value: unknown): Pointer | null {
  const mayBe = (typeof value === "object" && value !== null) || typeof value === "function";
  return mayBe && POINTER in value ? (value as Marked)[POINTER] : null;
}

/** True for handles of a list: all outputs, or several results. */
export function isListPointer(pointer: Pointer | null): boolean {
  return pointer?.to === "several" || (pointer?.to === "step" && pointer.output === "all");
}

/** What all handles have in common: none becomes text. */
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

/** A handle of these facts that points there, and refuses to become text. */
export function mark<H extends Handle>(facts: Omit<H, "toString">, pointer: Pointer): H {
  const handle = Object.assign(new Unresolved(), facts);
  pointAt(handle, pointer);
  return Object.freeze(handle) as unknown as H;
}

/** Makes an object known as a handle. */
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

/** Handles of the fields that a step is asked with. */
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

/** The value of a step, or a place in it. */
export function valueHandle<T>(step: string, build: Build, at: readonly Key[] = []): ValueHandle<T> {
  const pointer: Pointer = { to: "step", step, output: "value", build, ...(at.length > 0 && { at }) };
  const further = (key: Key) => valueHandle(step, build, [...at, key]);
  return mark<ValueHandle<T>>({ step, yields: "value", form: "single", at: further } as ValueHandle<T>, pointer);
}

/** One of several results, which a step chooses or lets pass. */
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
  // All are asked with the same but for the seed.
  const input = fieldsOf(pointers[0]!.step, takes) as TakesHandle<Y, I>["input"];
  const pointer: Pointer = { to: "step", step, output: "single", build };
  return mark<TakesHandle<Y, I>>({ step, yields, form: "single", outputs, input }, pointer);
}

export function expandHandle<Y extends Yields>(step: string, yields: Y, build: Build): ExpandHandle<Y> {
  const output = (index: number) => outputHandle({ step, yields, index, build });
  return mark<ExpandHandle<Y>>({ step, yields, form: "list", output }, { to: "step", step, output: "all", build });
}

/** A text as far as it is known while a pipeline is built: written down, or a field that another step is asked with. */
export function knownText(value: unknown): string | null {
  const pointer = pointerOf(value);
  const known = pointer?.to === "input" ? pointer.value : value;
  return typeof known === "string" ? known : null;
}

/** Text with values in it. */
export function textHandle(pieces: readonly unknown[]): Value<string> {
  return mark<Value<string>>({ step: "text", yields: "value", form: "single" }, { to: "text", pieces });
}

/**
 * An asset that the account owns already, such as an output of an earlier run, as media of a step's input.
 * `assetId` is an `asset_…` of `outputs[]`, not a job id.
 */
export function asset<K extends MediaKind>(kind: K, assetId: string): AssetHandle<K> {
  const facts = { step: `asset ${assetId}`, yields: kind, form: "single", assetId } as const;
  return mark<AssetHandle<K>>(facts, { to: "asset", assetId, kind });
}

/**
 * Stands for results of a part that could not be said because its input is wrong: whatever is taken from it is a handle
 * that nothing is known of, so that the rest of the build continues and its mistakes are found too.
 */
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
