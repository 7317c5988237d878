import { sleep } from "../clock.ts";
import { classifyStatus, isFinished } from "../job-status.ts";
import { readJob } from "../jobs.ts";
import type { JobResult } from "../wire/job.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import type { FollowContext } from "./strategy.ts";
import type { UpdateDeduper } from "./update-deduper.ts";

export type FinishedEvent = Extract<FollowEvent, { type: "finished" }>;

/** The closing event of a job that has come to its end, or null while it has not. */
export function finalEvent(job: JobResult): FinishedEvent | null {
  if (!isFinished(job)) return null;
  const kind = classifyStatus(job.status);
  return { type: "finished", job, outcome: kind === "open" ? "unrecognised" : kind };
}

/** Reads the job whole. The last event is `finished` once the job has ended. */
export async function pollJob(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  deduper: UpdateDeduper,
): Promise<FollowEvent[]> {
  const job = await readJob(context, jobId, { signal: options.signal, priority: options.priority });
  const end = finalEvent(job);
  if (end === null) return deduper.job(job);
  context.history.learn(job);
  return [...deduper.logs(job.logs ?? []), end];
}

export function isEnd(events: readonly FollowEvent[]): boolean {
  return events.at(-1)?.type === "finished";
}

/** Between reads of a job that was said to be over but does not read so yet: shortest and longest distance. */
const [lagMs, longestLagMs] = [1_000, 30_000];

/** Reads the job until it reads as finished; used once the service itself has said that the job is over. */
export async function* pollUntilFinished(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  deduper: UpdateDeduper,
): AsyncGenerator<FollowEvent, void> {
  for (let waitMs = lagMs; ; waitMs = Math.min(waitMs * 2, longestLagMs)) {
    const events = await pollJob(context, jobId, options, deduper);
    yield* events;
    if (isEnd(events)) return;
    await sleep(context.clock, waitMs, options.signal);
  }
}
