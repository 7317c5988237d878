import { sleep } from "../clock.ts";
import type { HttpContext } from "../http/call.ts";
import { classifyStatus, isSettled } from "../job-status.ts";
import { readJob } from "../jobs.ts";
import type { JobResult } from "../wire/job.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";

export type SettledEvent = Extract<FollowEvent, { type: "settled" }>;

/** The closing event of a job that has come to its end, or null while it has not. */
export function settleOf(job: JobResult): SettledEvent | null {
  if (!isSettled(job)) return null;
  const kind = classifyStatus(job.status);
  return { type: "settled", job, outcome: kind === "open" ? "unrecognised" : kind };
}

/** Distance between reads of a job that was said to be over but does not read so yet. */
const lagMs = 1_000;

/** Reads the job until it reads as settled; used once something said that it is. */
export async function settled(context: HttpContext, jobId: string, options: FollowOptions): Promise<SettledEvent> {
  for (;;) {
    const event = settleOf(await readJob(context, jobId, { signal: options.signal, priority: options.priority }));
    if (event) return event;
    await sleep(context.clock, lagMs, options.signal);
  }
}
