import { DAY_MS } from "../kit/duration.ts";
import type { RunEvent } from "./events.ts";

/** A webhook said that a job ended: a hint, for the job itself is the truth. */
export interface Delivery {
  readonly account: string;
  /** The same for every repetition of it. */
  readonly id: string;
  readonly jobId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * `delivered`: these runs have the hint in their inboxes. `early`: no run of the account knows the job yet; the commit that brings it
 * puts the hint into the inbox. `repeated`: it was delivered before.
 */
export interface DeliveryOutcome {
  readonly outcome: "delivered" | "early" | "repeated";
  readonly runIds: readonly string[];
}

/** How long deliveries are remembered, milliseconds, and how many at most: the newest. */
export const DELIVERIES_KEPT_MS = DAY_MS;
export const MOST_DELIVERIES = 50_000;
/** Characters of an id that is looked up. */
const LONGEST_ID = 500;

/** Whether both ids are fit for an index; others are no ids of the service. */
export function isDeliverable({ id, jobId }: Pick<Delivery, "id" | "jobId">): boolean {
  return [id, jobId].every((text) => text.length <= LONGEST_ID && !text.includes("\0"));
}

/** A job of an attempt, by which webhooks find its run. */
export interface KnownJob {
  readonly step: string;
  readonly attempt: number;
  readonly jobId: string;
}

/** The jobs that are known from these events on. */
export function jobsOf(events: readonly RunEvent[]): readonly KnownJob[] {
  return events.flatMap((event) => {
    if (event.type !== "job.submitted" && event.type !== "job.adopted") return [];
    const { step, attempt, jobId } = event;
    return jobId !== null && isDeliverable({ id: "", jobId }) ? [{ step, attempt, jobId }] : [];
  });
}
