import type { JobResult, JobStatusView } from "../endpoints/jobs.ts";
import { classifyStatus, isFinished, isTerminal, type StatusClass } from "../job-status.ts";
import type { Priority } from "../pace/fair-queue.ts";
import { type FollowContext, firstExpectation, localInstant } from "./context.ts";
import { type NextPoll, nextPoll, silenceMs } from "./schedule.ts";

/** When and what of a job is read next, and what is known of it until then: plain JSON, kept between two polls. */
export interface PlannedPoll {
  /** Epoch milliseconds of this machine's clock. */
  readonly dueAt: number;
  readonly read: NextPoll["at"];
  /** When the job should be done, or null when unknown. */
  readonly expectedAt: number | null;
}

export interface PollOptions {
  /** When the job was submitted, epoch milliseconds: polls lie ever further apart from it. */
  readonly submittedAt: number;
  /** What the poll before answered as `next`. Null: nothing is read, only the first poll is planned. */
  readonly planned: PlannedPoll | null;
  /** A webhook tells of the end, and polls only stand behind it. Default false. */
  readonly webhooks?: boolean | undefined;
  /** The model, so that past durations of its jobs can replace an absent estimate. */
  readonly model?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first at the pacer. Default 0. */
  readonly priority?: Priority | undefined;
}

/** What one poll of a job found. */
export type Polled =
  /** The truth, read from the job itself. `outcome` is `unrecognised` for a final status that this version does not know. */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> }
  /** Null where nothing but the job was read, or nothing at all. */
  | { readonly type: "open"; readonly status: JobStatusView | null; readonly next: PlannedPoll };

/** Longest silence that a webhook's poll stands behind, milliseconds. */
const longestMs = 600_000;

/** One read of a job, by the schedule of a follow: for whoever keeps neither process nor connection while it renders. */
export async function pollOnce(context: FollowContext, jobId: string, options: PollOptions): Promise<Polled> {
  const { planned, signal, priority } = options;
  if (planned === null) {
    const expectedAt = firstExpectation(context, jobId, options);
    return { type: "open", status: null, next: plan(context, options, { expectedAt, last: null }) };
  }
  let { expectedAt } = planned;
  let status: JobStatusView | null = null;
  if (planned.read === "status") {
    status = await context.jobs.status(jobId, { signal, priority });
    expectedAt = localInstant(context, status.estimatedCompletionAt);
    const isOver = isTerminal(status.status) || classifyStatus(status.status) === "unrecognised";
    if (!isOver) return { type: "open", status, next: plan(context, options, { expectedAt, last: "status", status }) };
  }
  const job = await context.jobs.job(jobId, { signal, priority });
  if (!isFinished(job)) return { type: "open", status, next: plan(context, options, { expectedAt, last: "job" }) };
  context.history.learn(job);
  const kind = classifyStatus(job.status);
  return { type: "finished", job, outcome: kind === "open" ? "unrecognised" : kind };
}

interface Known {
  readonly expectedAt: number | null;
  readonly last: NextPoll["at"] | null;
  readonly status?: JobStatusView;
}

function plan({ clock }: FollowContext, options: PollOptions, { expectedAt, last, status }: Known): PlannedPoll {
  const { submittedAt: startedAt, webhooks = false } = options;
  // The first poll is due from the submit on, however long nobody looked.
  const now = last === null ? startedAt : clock.now();
  if (webhooks) {
    const read = last === "status" ? "job" : "status";
    return { dueAt: now + silenceMs({ now, startedAt, expectedAt, longestMs }), read, expectedAt };
  }
  const queued = status?.status === "IN_QUEUE";
  const { delayMs, at } = nextPoll({ now, startedAt, expectedAt, progress: status?.progress ?? null, queued, last });
  return { dueAt: now + delayMs, read: at, expectedAt };
}
