import { DAY_MS } from "../kit/duration.ts";
import type { RunEvent } from "./events.ts";

/** A webhook message that reports the end of a job. */
export interface Delivery {
  readonly account: string;
  /** Id of the webhook message. A repeated message has the same id. */
  readonly id: string;
  readonly jobId: string;
  readonly at: number;
}

/**
 * The outcome of a delivery:
 * - `delivered`: the runs in `runIds` got the message.
 * - `early`: no run has the job yet.
 * - `repeated`: the same message arrived before.
 */
export interface DeliveryOutcome {
  readonly outcome: "delivered" | "early" | "repeated";
  readonly runIds: readonly string[];
}

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
