import { DAY_MS } from "../kit/duration.ts";
import type { RunEvent } from "./events.ts";

/** A webhook's hint that a job ended, after which the run reads the job from the service. */
export interface Delivery {
  readonly account: string;
  /** Id of the webhook message. It stays the same if the message is sent again. */
  readonly id: string;
  readonly jobId: string;
  readonly at: number;
}

/**
 * The result of a delivery:
 * - `delivered`: the hint is in the inboxes of the runs in `runIds`.
 * - `early`: no run of the account has the job yet. The run that adds the job will get the hint.
 * - `repeated`: the same delivery arrived before.
 */
export interface DeliveryOutcome {
  readonly outcome: "delivered" | "early" | "repeated";
  readonly runIds: readonly string[];
}

/** How long a delivery is remembered, unless there are more than {@link MOST_DELIVERIES}. */
export const DELIVERIES_KEPT_MS = DAY_MS;
export const MOST_DELIVERIES = 50_000;
/** Maximum length of an id. Longer ids may not fit into a database index. */
const LONGEST_ID = 500;

export function isDeliverable({ id, jobId }: Pick<Delivery, "id" | "jobId">): boolean {
  return [id, jobId].every((text) => text.length <= LONGEST_ID && !text.includes("\0"));
}

export interface KnownJob {
  readonly step: string;
  readonly attempt: number;
  readonly jobId: string;
}

export function jobsOf(events: readonly RunEvent[]): readonly KnownJob[] {
  return events.flatMap((event) => {
    if (event.type !== "job.submitted" && event.type !== "job.adopted") return [];
    const { step, attempt, jobId } = event;
    return jobId !== null && isDeliverable({ id: "", jobId }) ? [{ step, attempt, jobId }] : [];
  });
}
