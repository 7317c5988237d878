import type { JournalError } from "../../../../src/core/journal/events.ts";
import { type AttemptState, newAttempt } from "../../../../src/core/journal/state.ts";

export const copy = { sha256: "c", sizeBytes: 1, contentType: "image/png" };

/** A finished and copied output, with changes. */
export const output = (index: number, more: object = {}) => ({
  ...{ index, assetId: `x${index}`, status: "COMPLETED", phase: "downloaded", voiceId: null, copy, error: null },
  ...{ contentType: "image/png", width: 2, height: 3, durationMs: 4, fps: 5, ...more },
});

/** A finished output that is on the service only. */
export const uncopied = (index: number, more: object = {}) =>
  output(index, { phase: "available", copy: null, ...more });

/** The nth attempt of a job, finished and paid, with changes. */
export const attempt = (n: number, more: object = {}) => ({
  ...{ kind: "job", n, phase: "completed", money: "settled", model: "m", jobId: `j${n}`, input: { x: n }, error: null },
  ...{ holdMicros: 70, costMicros: 60, quote: { costMicros: 80, basis: "quoted" }, outputs: [] },
  ...{ intendedAt: 10, submittedAt: 11, completedAt: 12, ...more },
});

export function failedTry(n: number, error: JournalError, at = n): AttemptState {
  return { ...newAttempt(n, "try"), phase: "failed", error, completedAt: at };
}
