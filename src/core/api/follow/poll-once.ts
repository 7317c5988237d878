import { sleep } from "../clock.ts";
import type { JobResult, JobStatusView, LogEvent } from "../endpoints/jobs.ts";
import { classifyStatus, isFinished, isTerminal, type SeenUpdates, type StatusClass } from "../job-status.ts";
import type { Priority } from "../pace/fair-queue.ts";
import { type FollowContext, type FollowEvent, type FollowOptions, firstExpectation, localInstant } from "./context.ts";
import { type NextPoll, nextPoll, type PollView, silenceMs } from "./schedule.ts";
import type { Source } from "./sources.ts";

/**
 * The next poll of a job, and what is known about the job. It is plain JSON, so that it can be stored between two
 * polls.
 */
export interface PlannedPoll {
  /** When to poll, in epoch milliseconds on this machine's clock. */
  readonly dueAt: number;
  readonly read: NextPoll["at"];
  /** When the job should be done, in epoch milliseconds; null if unknown. */
  readonly expectedAt: number | null;
}

export interface PollOptions {
  /** When the job was submitted, in epoch milliseconds. Polls become less frequent as the job gets older. */
  readonly submittedAt: number;
  /** The previous poll's `next`. Null before the first poll: the call then reads nothing and only plans that poll. */
  readonly planned: PlannedPoll | null;
  /** True if webhooks report the job's end, so that polls are only a fallback. Default false. */
  readonly webhooks?: boolean | undefined;
  /** The model's id. If no estimate is known, the durations of the model's past jobs are used. */
  readonly model?: string | undefined;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
  /** Requests with a higher priority are sent first. Default 0. */
  readonly priority?: Priority | undefined;
}

export type Polled =
  /** The job has ended. `outcome` is `unrecognised` if this version does not recognize the job's status. */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> }
  /** The job has not ended. `status` is null if this poll read the full job, or read nothing. */
  | { readonly type: "open"; readonly status: JobStatusView | null; readonly next: PlannedPoll };

/** A missing webhook delays a poll by at most this many milliseconds. */
const longestMs = 600_000;

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
  // The first poll is scheduled from the time of submission, even if nobody polled for a long time.
  const now = last === null ? startedAt : clock.now();
  if (webhooks) {
    const read = last === "status" ? "job" : "status";
    return { dueAt: now + silenceMs({ now, startedAt, expectedAt, longestMs }), read, expectedAt };
  }
  const queued = status?.status === "IN_QUEUE";
  const { delayMs, at } = nextPoll({ now, startedAt, expectedAt, progress: status?.progress ?? null, queued, last });
  return { dueAt: now + delayMs, read: at, expectedAt };
}

/** Shortest and longest wait between reads of a job that is still returned as open, although its status is final. */
const [lagMs, longestLagMs] = [1_000, 30_000];

/**
 * Follows a job through a source of updates, and polls the job if the source is silent for longer than its schedule
 * allows. Yields each log event once and never moves the status back. Leaves no timer or socket behind.
 */
export async function* pollBetween(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  seen: SeenUpdates,
  open: (context: FollowContext, jobId: string, options: FollowOptions) => Source,
): AsyncGenerator<FollowEvent, void> {
  const { clock, jobs } = context;
  const { signal, priority } = options;
  const startedAt = clock.now();
  let expectedAt = firstExpectation(context, jobId, options);
  let [progress, queued, last, hints]: [number | null, boolean, PollView["last"], number] = [null, false, null, 0];
  const source = open(context, jobId, options);
  let logsAfter = source.logsAfter;
  try {
    for (;;) {
      const next = source.schedule({ now: clock.now(), startedAt, expectedAt, progress, queued, last, hints });
      const news = await source.wait(next.delayMs);
      if (news === "end") break;
      if (news !== "hint" && news !== "nothing") {
        if (news.type === "log") yield* tellLogs([news.log], seen);
        // A terminal status is not yielded: `finished` reports it, read from the job itself.
        if (news.type !== "status" || isTerminal(news.status.status)) continue;
        expectedAt = localInstant(context, news.status.estimatedCompletionAt) ?? expectedAt;
        yield* tellStatus(news.status, seen);
        continue;
      }
      // After the first hint, polls of the job follow at growing intervals.
      if (news === "hint" || hints > 0) hints++;
      last = news === "hint" ? "job" : next.at;
      if (last === "job") {
        if (yield* pollJob(context, jobId, options, seen)) return;
        queued = false;
        continue;
      }
      const status = await jobs.status(jobId, { signal, priority, logsAfter });
      logsAfter &&= status.logsNextCursor ?? logsAfter;
      if (isTerminal(status.status)) {
        yield* tellLogs(status.logs, seen);
        break;
      }
      yield* tellStatus(status, seen);
      ({ progress } = status);
      queued = status.status === "IN_QUEUE";
      expectedAt = localInstant(context, status.estimatedCompletionAt);
      // Only the full job shows whether an unknown status is final.
      const isOdd = classifyStatus(status.status) === "unrecognised";
      if (isOdd && (yield* pollJob(context, jobId, options, seen))) return;
    }
  } finally {
    source.close();
  }
  for (let waitMs = lagMs; ; waitMs = Math.min(waitMs * 2, longestLagMs)) {
    if (yield* pollJob(context, jobId, options, seen)) return;
    await sleep(clock, waitMs, signal);
  }
}

/** If the job has ended, yields `finished` and returns true. */
async function* pollJob(
  { jobs, history }: FollowContext,
  jobId: string,
  { signal, priority }: FollowOptions,
  seen: SeenUpdates,
): AsyncGenerator<FollowEvent, boolean> {
  const job = await jobs.job(jobId, { signal, priority });
  if (!isFinished(job)) {
    yield* tellStatus(statusOf(job), seen);
    return false;
  }
  history.learn(job);
  yield* tellLogs(job.logs ?? [], seen);
  const kind = classifyStatus(job.status);
  yield { type: "finished", job, outcome: kind === "open" ? "unrecognised" : kind };
  return true;
}

function statusOf({ jobId, status, logs }: JobResult): JobStatusView {
  return { jobId, status, progress: null, estimatedCompletionAt: null, logs: logs ?? [], logsNextCursor: null };
}

function tellStatus(status: JobStatusView, seen: SeenUpdates): FollowEvent[] {
  const logs = tellLogs(status.logs, seen);
  return seen.addStatus(status) ? [...logs, { type: "status", status }] : logs;
}

function tellLogs(logs: readonly LogEvent[], seen: SeenUpdates): FollowEvent[] {
  return logs.filter((log) => seen.addLog(log)).map((log) => ({ type: "log", log }));
}
