import type { Json } from "../../plan/plan.ts";
import type { AllMedia, Handle, Media, Value } from "../handle.ts";
import type { InputOf, ModelOrId } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import type { OptionReader } from "./options.ts";

/** An input once everything that it referred to exists: values of steps are themselves, media as the service takes them. */
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

/** What a job's input is once its run has come that far. Of a model that is named by an untyped id: any JSON. */
export type SettledInput<M extends ModelOrId> = M extends string
  ? { readonly [field: string]: Json | undefined }
  : Settled<InputOf<M>>;

export interface ReviseOption<I> {
  /**
   * What a note of whoever looks at the result changes in the input: the fields that it returns, `undefined` for one that is
   * left out; the others stay. Called once for a note, by `show.redo`; the journal keeps what it returned.
   */
  readonly revise?: ((input: I, note: string) => Partial<I>) | undefined;
}

/** Keeps the function, to be found by the path of the step. */
export function bindRevise(recorder: Recorder, path: string, read: OptionReader): void {
  const revise = read.get("revise");
  if (revise === undefined) return;
  if (typeof revise === "function") recorder.bind(path, { kind: "revise", revise: revise as ReviseFunction });
  else read.bad("revise", "revise is no function of an input and a note that returns the fields to change");
}

type ReviseFunction = (input: unknown, note: string) => unknown;
