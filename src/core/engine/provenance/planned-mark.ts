import type { StoredCopy } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import { type Mark, type MarkPreview, previewMark } from "../../marks/index.ts";
import type { MediaStore } from "../media/media-store.ts";
import { sourceTypeOf } from "./source-type.ts";

/** What a named file is to say of how it came about, and what becomes of it by that. */
export interface PlannedMark {
  readonly mark: Mark;
  readonly preview: MarkPreview;
}

/** Null where the run's files are to be as they came, or no model took part in this one, or it is text. Throws `MediaMissingError`. */
export async function plannedMark(
  { planned }: RunState,
  { step, copy: { sha256, contentType } }: { readonly step: string; readonly copy: StoredCopy },
  media: MediaStore,
): Promise<PlannedMark | null> {
  const digitalSourceType = planned.marks === true ? sourceTypeOf(planned.plan, step, contentType) : null;
  if (digitalSourceType === null) return null;
  await using held = await media.hold([sha256]);
  const mark = { digitalSourceType };
  return { mark, preview: await previewMark(held.path(sha256), mark) };
}
