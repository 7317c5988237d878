import type { Json } from "../../plan/plan.ts";
import {
  type AllMedia,
  type Handle,
  type Media,
  mark,
  type OutputsHandle,
  pointerOf,
  type StepPointer,
  type Value,
  type ValueHandle,
  type ValuesHandle,
  valueHandle,
  type Yields,
} from "../handle.ts";
import type { InputOf, ModelOrId } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { OptionReader, readAmong, type StepOptions } from "./options.ts";

export interface ApproveOptions extends StepOptions {
  /** The question for the person. Default: none. */
  readonly message?: string | undefined;
}

/** The handle that an approval returns. It is of the same kind as the handle that was passed to `approve`. */
export type Approved<H> =
  H extends Value<infer T>
    ? ValueHandle<T>
    : H extends ValuesHandle<infer T>
      ? ValuesHandle<T>
      : H extends Handle<infer Y, "list">
        ? OutputsHandle<Y>
        : H extends Handle<infer Y>
          ? Handle<Y, "single">
          : never;

export interface ApproveMethod {
  /**
   * Adds an approval: a person looks at a result and approves or rejects it. The handle stands for that result. Steps
   * that use the handle wait, and are not paid for, until the person approves the result. Decide with `showrunner
   * approve` or `showrunner reject`.
   */
  <H extends Handle>(name: string, shown: H, options?: ApproveOptions): Approved<H>;
}

export function approveMethod(recorder: Recorder): ApproveMethod {
  return <H extends Handle>(name: string, shown: H, options?: ApproveOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("an approval", ["message"]);
    recorder.add({
      kind: "approve",
      path,
      shows: readAmong(shown, { step: path, field: "shown" }, recorder),
      choose: false,
      message: read.string("message"),
      after: read.after(),
      when: read.when(),
    });
    return sameHandle(shown, path, recorder) as Approved<H>;
  };
}

function sameHandle(shown: Handle, step: string, { build }: Recorder): Handle {
  const pointer = pointerOf(shown);
  const { yields, form } = shown ?? {};
  if (pointer?.to === "step" && pointer.output === "value" && form === "single") return valueHandle(step, build);
  const output: StepPointer["output"] = form === "list" ? "all" : "single";
  return mark<Handle<Yields>>({ step, yields, form }, { to: "step", step, output, build });
}

/** An input whose handles have been replaced by values and media references. */
export type Settled<I> = unknown extends I
  ? unknown
  : I extends Value<infer T>
    ? T
    : I extends Handle | Media<never> | AllMedia<never>
      ? Json
      : I extends readonly (infer E)[]
        ? readonly Settled<E>[]
        : I extends object
          ? { readonly [K in keyof I]: Settled<I[K]> }
          : I;

/** A job's input without handles. If the model is a plain id, the input can be any JSON. */
export type SettledInput<M extends ModelOrId> = M extends string
  ? { readonly [field: string]: Json | undefined }
  : Settled<InputOf<M>>;

export interface ReviseOption<I> {
  /**
   * Returns the input fields to change for a reviewer's note. `undefined` removes a field, and omitted fields stay as
   * they are. `show.redo` calls it once for each note, and the journal stores the result.
   */
  readonly revise?: ((input: I, note: string) => Partial<I>) | undefined;
}

export function bindRevise(recorder: Recorder, path: string, read: OptionReader): void {
  const revise = read.get("revise");
  if (revise === undefined) return;
  if (typeof revise === "function") recorder.bind(path, { kind: "revise", revise: revise as ReviseFunction });
  else read.bad("revise", "`revise` must be a function that takes the input and a note and returns changed fields");
}

type ReviseFunction = (input: unknown, note: string) => unknown;
