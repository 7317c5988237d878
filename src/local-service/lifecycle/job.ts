import type { ErrorBody } from "../http/refusal.ts";
import type { JobStatus, NewEvent } from "../store/rows.ts";

/*
 *              start                settle
 *   IN_QUEUE ─────────▶ IN_PROGRESS ───────▶ COMPLETED
 *       │                    │
 *       └──────── settle ────┴─────────────▶ FAILED
 */
const MOVES: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  IN_QUEUE: ["IN_PROGRESS", "FAILED"],
  IN_PROGRESS: ["COMPLETED", "FAILED"],
  COMPLETED: [],
  FAILED: [],
};

/** Whether a job may go from one status to another. Never back, never out of an end. */
export function canMove(from: JobStatus, to: JobStatus): boolean {
  return MOVES[from].includes(to);
}

export function isTerminal(status: JobStatus): boolean {
  return MOVES[status].length === 0;
}

type EventData = NewEvent["data"];

const event = (
  event: NewEvent["event"],
  source: NewEvent["source"],
  message: string,
  data: EventData = {},
  level: NewEvent["level"] = "info",
): NewEvent => ({ event, source, message, data, level });

/** What is logged when a submit is accepted. */
export const acceptedEvents: readonly NewEvent[] = [
  event("queued", "api", "The job is waiting for its turn."),
  event("moderation.passed", "api", "Nothing in the input was objected to."),
];

export const startedEvents: readonly NewEvent[] = [
  event("started", "worker", "The work has begun."),
  event("provider.submitted", "worker", "The work was handed to the model."),
];

/** After a restart of the service in the middle of the work. */
export const recoveredEvents: readonly NewEvent[] = [
  event("recovered", "cron", "The work was interrupted and starts again.", {}, "warning"),
];

export function progressEvent(fraction: number): NewEvent {
  return event("progress", "provider", `${Math.round(fraction * 100)} % done.`, { progress: fraction });
}

/** How one output ended. */
export type OutputEnd = { readonly ok: true } | { readonly ok: false; readonly error: ErrorBody };

/** How a job ends: its status, what it gives back, and what is logged. */
export interface Settlement {
  readonly status: "COMPLETED" | "FAILED";
  readonly error: ErrorBody | null;
  readonly refundMicros: number;
  readonly events: readonly NewEvent[];
}

/** A failed job is refunded in full. */
export function failure(chargedMicros: number, error: ErrorBody): Settlement {
  return {
    status: "FAILED",
    error,
    refundMicros: chargedMicros,
    events: [
      event("provider.error", "provider", "The model could not do the work.", { code: error.code }, "error"),
      event("failed", "worker", "The job failed; what it cost was refunded.", { code: error.code }, "error"),
    ],
  };
}

/** A job with at least one output made is completed; failed outputs are refunded pro rata. */
export function settlement(chargedMicros: number, ends: readonly OutputEnd[]): Settlement {
  const failed = ends.flatMap((end) => (end.ok ? [] : [end.error]));
  const [firstError] = failed;
  if (firstError && failed.length === ends.length) return failure(chargedMicros, firstError);
  const refundMicros = Math.round((chargedMicros * failed.length) / Math.max(1, ends.length));
  const made = ends.length - failed.length;
  const problems = failed.map((error) =>
    event("provider.error", "provider", "One output could not be made.", { code: error.code }, "warning"),
  );
  return {
    status: "COMPLETED",
    error: null,
    refundMicros,
    events: [
      ...problems,
      event("finalizing", "worker", "The outputs are being stored."),
      ...(made > 0 ? [event("download.ready", "worker", "The outputs can be downloaded.", { outputs: made })] : []),
      event("completed", "worker", "The job is complete.", { outputs: made, failed: failed.length }),
    ],
  };
}
