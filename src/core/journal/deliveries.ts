import { DAY_MS } from "../kit/duration.ts";
import type { RunEvent } from "./events.ts";

/** A webhook's report that a job ended. It is only a hint: the run then reads the job itself. */
export interface Delivery {
  readonly account: string;
  /** Id of the webhook. A repeated webhook has the same id. */
  readonly id: string;
  readonly jobId: string;
  readonly at: number;
}

/**
 * `delivered`: the hint is in these runs' inboxes. `early`: no run of the account has the job yet; the commit that
 * adds the job also adds the hint. `repeated`: the hint was delivered before.
 */
export interface DeliveryOutcome {
  readonly outcome: "delivered" | "early" | "repeated";
  readonly runIds: readonly string[];
}

/** How long deliveries are remembered, in milliseconds, and the maximum number; only the newest are kept. */
export const DELIVERIES_KEPT_MS = DAY_MS;
export const MOST_DELIVERIES = 50_000;
/** Maximum length of an id that is looked up. */
const LONGEST_ID = 500;

/** True if both ids fit into an index. The service never sends longer ids. */
export function isDeliverable({ id, jobId }: Pick<Delivery, "id" | "jobId">): boolean {
  return [id, jobId].every((text) => text.length <= LONGEST_ID && !text.includes("\0"));
}

/** The job of an attempt; used to find the run that a webhook is about. */
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
