import type { Handle, OutputsHandle, Value, ValueHandle, ValuesHandle, Yields } from "../handle.ts";
import { mark, pointerOf, type StepPointer, valueHandle } from "../handle-value.ts";
import type { Recorder } from "../recorder.ts";
import { OptionReader, readAmong, type StepOptions } from "./options.ts";

export interface ApproveOptions extends StepOptions {
  /** The question to the person. Default: none beside the shown results. */
  readonly message?: string | undefined;
}

/** The same kind of handle as the one that is shown. */
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
   * A gate: shows a result to a person and lets the run continue once it is approved. Stands for what it shows, so that what
   * uses it waits. `showrunner approve` and `reject` decide; nothing is paid meanwhile that depends on it.
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
