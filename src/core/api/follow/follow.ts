import { type Deadline, sleep, startDeadline } from "../clock.ts";
import type { JobResult, JobStatusView, LogEvent } from "../endpoints/jobs.ts";
import { ApiError, ConnectionError, MalformedResponseError, TimeoutError } from "../errors.ts";
import { checkTimeout } from "../options.ts";
import type { Priority } from "../pace/fair-queue.ts";
import { telemetry } from "../telemetry.ts";
import {
  classifyStatus,
  type FollowContext,
  type FollowEvent,
  type FollowOptions,
  firstExpectation,
  isFinished,
  isTerminal,
  localInstant,
  SeenUpdates,
  type StatusClass,
} from "./context.ts";
import { type NextPoll, nextPoll, type PollView, type Source, silenceMs, sources } from "./sources.ts";

/** Yields each status and log event once, then `finished`. */
export async function* followJob(
  context: FollowContext,
  jobId: string,
  options: FollowOptions = {},
): AsyncGenerator<FollowEvent, void> {
  checkTimeout(options.deadlineMs, "deadlineMs");
  const span = await telemetry.open("showrunner.follow", {
    "showrunner.job_id": jobId,
    "showrunner.strategy": options.strategy ?? "auto",
  });
  const deadline = deadlineOf(context, options);
  try {
    for await (const event of chosen(context, jobId, deadline ? { ...options, signal: deadline.signal } : options)) {
      if (event.type === "finished") span.set({ "showrunner.outcome": event.outcome });
      options.onUpdate?.(event);
      yield event;
    }
    span.end();
  } catch (cause) {
    const error = deadline?.timedOut() ? tooLate(jobId, options.deadlineMs ?? 0, cause) : cause;
    span.end(error);
    throw error;
  } finally {
    deadline?.release();
    // This is also reached if the caller leaves the loop early.
    span.end();
  }
}

function deadlineOf(context: FollowContext, { deadlineMs, signal }: FollowOptions): Deadline | null {
  return deadlineMs === undefined ? null : startDeadline(context.clock, deadlineMs, signal);
}

function tooLate(jobId: string, timeoutMs: number, cause: unknown): TimeoutError {
  const message = `job ${jobId} did not finish within ${timeoutMs} ms, but it continues on the service; follow it again, or check its status later`;
  return new TimeoutError(message, { timeoutMs, sent: true, cause });
}

async function* chosen(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  const requested = options.strategy ?? "auto";
  const seen = new SeenUpdates();
  if (requested !== "auto") return yield* pollBetween(context, jobId, options, seen, sources[requested]);
  if (context.hints.fed) return yield* pollBetween(context, jobId, options, seen, sources.webhook);
  try {
    return yield* pollBetween(context, jobId, options, seen, sources.stream);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isStreamFailure(error)) throw error;
    context.logger.info({ jobId, reason: error.message }, "the stream is not available; polling instead");
    yield { type: "switched", from: "stream", to: "poll", reason: error.message };
  }
  yield* pollBetween(context, jobId, options, seen, sources.poll);
}

function isStreamFailure(error: unknown): error is Error {
  if (error instanceof ConnectionError || error instanceof TimeoutError || error instanceof MalformedResponseError)
    return true;
  return error instanceof ApiError && error.status !== 401 && error.status !== 403;
}

/** The next poll of a job, as plain JSON that can be stored until then. */
export interface PlannedPoll {
  /** When to poll, in epoch milliseconds on this machine's clock. */
  readonly dueAt: number;
  readonly read: NextPoll["at"];
  /** When the job is expected to end, in epoch milliseconds; null if unknown. */
  readonly expectedAt: number | null;
}

export interface PollOptions {
  /** When the job was submitted, in epoch milliseconds. */
  readonly submittedAt: number;
  /** `next` from the previous poll; null for the first call, which only plans the first poll. */
  readonly planned: PlannedPoll | null;
  /** True if webhooks report the job's end, so that polls are only a fallback. Default: false. */
  readonly webhooks?: boolean | undefined;
  /**
   * The model's id. If the service gives no estimate, earlier jobs of this model are used to estimate when the job will
   * finish.
   */
  readonly model?: string | undefined;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
  /** Requests with a higher priority are sent first. Default: 0. */
  readonly priority?: Priority | undefined;
}

export type Polled =
  /** The job has ended. `outcome` is `unrecognised` if this version does not know the job's status. */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> }
  /** The job has not ended. `status` is null if this poll did not read the status. */
  | { readonly type: "open"; readonly status: JobStatusView | null; readonly next: PlannedPoll };

/** Maximum time between polls while webhooks are expected. */
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
  // The first poll is planned from the time of submission, however long ago that was.
  const now = last === null ? startedAt : clock.now();
  if (webhooks) {
    const read = last === "status" ? "job" : "status";
    return { dueAt: now + silenceMs({ now, startedAt, expectedAt, longestMs }), read, expectedAt };
  }
  const queued = status?.status === "IN_QUEUE";
  const { delayMs, at } = nextPoll({ now, startedAt, expectedAt, progress: status?.progress ?? null, queued, last });
  return { dueAt: now + delayMs, read: at, expectedAt };
}

/** Minimum and maximum delay between polls of a job that has ended but that the service still reports as open. */
const [lagMs, longestLagMs] = [1_000, 30_000];

async function* pollBetween(
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
        // A final status is not yielded here, because `finished` reports it.
        if (news.type !== "status" || isTerminal(news.status.status)) continue;
        expectedAt = localInstant(context, news.status.estimatedCompletionAt) ?? expectedAt;
        yield* tellStatus(news.status, seen);
        continue;
      }
      // After the first webhook, the job is polled at growing intervals.
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

/** Reads the job. If it has ended, yields `finished` and returns true. */
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
