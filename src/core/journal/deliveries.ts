import { DAY_MS } from "../kit/duration.ts";
import type { RunEvent } from "./events.ts";

/** A webhook's notice that a job ended. The notice is only a hint: the run then reads the job from the service. */
export interface Delivery {
  readonly account: string;
  /** Id of the webhook message. A message that is sent again keeps its id. */
  readonly id: string;
  readonly jobId: string;
  readonly at: number;
}

/**
 * What happened to a delivery. `delivered`: the hint is in the inboxes of the runs in `runIds`. `early`: no run of the
 * account has the job yet; the commit that adds the job will also add the hint. `repeated`: the same delivery arrived
 * before.
 */
export interface DeliveryOutcome {
  readonly outcome: "delivered" | "early" | "repeated";
  readonly runIds: readonly string[];
}

/** How long a delivery is remembered, in milliseconds, and how many at most. The oldest are forgotten first. */
export const DELIVERIES_KEPT_MS = DAY_MS;
export const MOST_DELIVERIES = 50_000;
/** Maximum length of an id, in characters. Longer ids may not fit into a database index. */
const LONGEST_ID = 500;

/** True if the ids of the delivery and its job fit into an index. The service never sends longer ids. */
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
