import type { ErrorBody } from "../http/refusal.ts";
import type { JobRow, JobStatus, NewEvent } from "../store/rows.ts";

const MOST_WHILE_RUNNING = 0.99;

export function progressOf(job: JobRow, now: number): number | null {
  if (job.status === "COMPLETED") return 1;
  if (job.status === "FAILED") return null;
  if (job.startedAt === null) return 0;
  const fraction = job.renderMs === 0 ? MOST_WHILE_RUNNING : (now - job.startedAt) / job.renderMs;
  return Math.round(Math.min(MOST_WHILE_RUNNING, Math.max(0, fraction)) * 100) / 100;
}

export function estimatedCompletion(job: JobRow, averageMs: number | null, now: number): number | null {
  if (isTerminal(job.status)) return null;
  if (job.startedAt !== null) return Math.max(now, job.startedAt + job.renderMs);
  return averageMs === null ? null : Math.max(now, job.createdAt + Math.round(averageMs));
}

export function isTerminal(status: JobStatus): boolean {
  return status === "COMPLETED" || status === "FAILED";
}

type EventData = NewEvent["data"];

const event = (
  event: NewEvent["event"],
  source: NewEvent["source"],
  message: string,
  data: EventData = {},
  level: NewEvent["level"] = "info",
): NewEvent => ({ event, source, message, data, level });

export const acceptedEvents: readonly NewEvent[] = [
  event("queued", "api", "The job is queued."),
  event("moderation.passed", "api", "The input passed moderation."),
];

export const startedEvents: readonly NewEvent[] = [
  event("started", "worker", "The job has started."),
  event("provider.submitted", "worker", "The job was submitted to the model."),
];

export const recoveredEvents: readonly NewEvent[] = [
  event("recovered", "cron", "The job was interrupted and is restarting.", {}, "warning"),
];

export function progressEvent(fraction: number): NewEvent {
  return event("progress", "provider", `${Math.round(fraction * 100)}% done.`, { progress: fraction });
}

export interface JobOutcome {
  readonly status: "COMPLETED" | "FAILED";
  readonly error: ErrorBody | null;
  readonly refundMicros: number;
  readonly events: readonly NewEvent[];
}

export function failure(chargedMicros: number, error: ErrorBody): JobOutcome {
  return {
    status: "FAILED",
    error,
    refundMicros: chargedMicros,
    events: [
      event("provider.error", "provider", "The model failed.", { code: error.code }, "error"),
      event("failed", "worker", "The job failed; its cost was refunded.", { code: error.code }, "error"),
    ],
  };
}

/**
 * Returns how a job ends. It fails only if all of its outputs fail. Otherwise, it is COMPLETED, and each failed
 * output's share of the price is refunded. `errors` has an entry for each output.
 */
export function outcomeOf(chargedMicros: number, errors: readonly (ErrorBody | null)[]): JobOutcome {
  const failed = errors.filter((error) => error !== null);
  const [firstError] = failed;
  if (firstError && failed.length === errors.length) return failure(chargedMicros, firstError);
  const refundMicros = Math.round((chargedMicros * failed.length) / Math.max(1, errors.length));
  const succeeded = errors.length - failed.length;
  const problems = failed.map((error) =>
    event("provider.error", "provider", "One output could not be created.", { code: error.code }, "warning"),
  );
  return {
    status: "COMPLETED",
    error: null,
    refundMicros,
    events: [
      ...problems,
      event("finalizing", "worker", "The outputs are being stored."),
      ...(succeeded > 0
        ? [event("download.ready", "worker", "The outputs can be downloaded.", { outputs: succeeded })]
        : []),
      event("completed", "worker", "The job is complete.", { outputs: succeeded, failed: failed.length }),
    ],
  };
}
