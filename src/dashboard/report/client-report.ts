import { type FoldedRun, formatCents, invoiced } from "../../internal.ts";
import type { ClientReport, MediaView } from "../views/run-wire.ts";
import { blankMedia, stepView } from "../views/step-view.ts";

/** What a run returned, by the names that its pipeline gives, and nothing else of it. */
export function clientReport(
  { view }: FoldedRun,
  { writtenAt, hasPrice }: { readonly writtenAt: number; readonly hasPrice: boolean },
): ClientReport {
  const { state, steps } = view!;
  const returned = steps.flatMap((step) => stepView(state, step).media.filter(({ name }) => name !== null));
  return {
    title: state.planned.title ?? state.runId,
    writtenAt,
    isComplete: state.status === "succeeded",
    price: hasPrice ? formatCents(invoiced([state.spentMicros], 0n).total) : null,
    media: returned.map(shown),
  };
}

function shown(
  { kind, contentType, url, sizeBytes, sha256, durationMs, name, file }: MediaView,
  at: number,
): MediaView {
  return { ...blankMedia(name!, at), kind, contentType, url, sizeBytes, sha256, durationMs, name, file };
}
