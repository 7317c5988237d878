import type { Handle } from "../handle.ts";
import { pointerOf } from "../handle-value.ts";
import type { Recorder } from "../recorder.ts";

/** Paths of the steps that an `after` option names. */
export function afterPaths(
  after: Handle | readonly Handle[] | undefined,
  step: string,
  recorder: Recorder,
): readonly string[] {
  const handles: readonly unknown[] = after === undefined ? [] : Array.isArray(after) ? after : [after];
  return handles.flatMap((handle) => {
    const pointer = pointerOf(handle);
    if (pointer?.to === "step" && pointer.build === recorder.build) return [pointer.step];
    const message = "after takes handles of steps of this build";
    recorder.report({ code: "foreign-handle", step, field: "after", message });
    return [];
  });
}
