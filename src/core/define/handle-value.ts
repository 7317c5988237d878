import type { DraftJson } from "../plan/draft.ts";
import type { MediaKind } from "../plan/plan.ts";
import { HandleMisuseError } from "./errors.ts";
import type {
  AssetHandle,
  ExpandHandle,
  Handle,
  JobHandle,
  OutputHandle,
  OutputsHandle,
  TakesHandle,
  UploadHandle,
  Value,
  ValueHandle,
  Yields,
} from "./handle.ts";

/** Shared by all copies of this module in a process, so that a handle is known wherever it comes from. */
const POINTER = Symbol.for("showrunner.handle");

/** Identity of a build; that of an expansion has the one around it as `within`, whose handles it may use. */
export interface Build {
  readonly within: Build | null;
}

export type Key = string | number;

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
export function pointAt(handle: object, pointer: Pointer): void {
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
