import type { DraftReference } from "../../plan/draft.ts";
import { pointerOf } from "../handle-value.ts";
import type { Recorder } from "../recorder.ts";

/** References to what an approval shows or a choice is made from: one handle, a list handle, or a list of handles. */
export function readAmong(
  given: unknown,
  at: { readonly step: string; readonly field: string },
  recorder: Recorder,
): readonly DraftReference[] {
  const items: readonly unknown[] = Array.isArray(given) ? given : [given];
  const inList = (index: number) => (Array.isArray(given) ? `${at.field}[${index}]` : at.field);
  return items.flatMap((item, index) => {
    const field = inList(index);
    const pointer = pointerOf(item);
    if (pointer?.to !== "step" && pointer?.to !== "several") {
      const message = "takes handles of steps of this build";
      recorder.report({ code: "foreign-handle", step: at.step, field, message });
      return [];
    }
    const json = recorder.json(item, { step: at.step, field });
    return (Array.isArray(json) ? json : [json]).filter((one) => one !== null) as readonly DraftReference[];
  });
}
