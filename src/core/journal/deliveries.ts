import { DAY_MS } from "../kit/duration.ts";
import type { RunEvent } from "./events.ts";

/** A webhook's notice that a job ended. The notice is only a hint. The run then reads the job from the service. */
export interface Delivery {
  readonly account: string;
  /** Id of the webhook message. A message that is sent again keeps its id. */
  readonly id: string;
  readonly jobId: string;
  readonly at: number;
}

/**
 * The result of a delivery:
 * - `delivered`: the hint is in the inboxes of the runs in `runIds`.
 * - `early`: no run of the account has the job yet. The commit that adds the job will also add the hint.
 * - `repeated`: the same delivery arrived before.
 */
export interface DeliveryOutcome {
  readonly outcome: "delivered" | "early" | "repeated";
  readonly runIds: readonly string[];
}

/** How long a delivery is remembered. The oldest are forgotten earlier if there are more than {@link MOST_DELIVERIES}. */
export const DELIVERIES_KEPT_MS = DAY_MS;
export const MOST_DELIVERIES = 50_000;
/** Longer ids may not fit into a database index. */
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
