import { sleep } from "../clock.ts";
import type { JobResult, JobStatusView, LogEvent } from "../endpoints/jobs.ts";
import { classifyStatus, isFinished, isTerminal, type SeenUpdates } from "../job-status.ts";
import { type FollowContext, type FollowEvent, type FollowOptions, firstExpectation, localInstant } from "./context.ts";
import type { PollView } from "./schedule.ts";
import type { Source } from "./sources.ts";

/** Between reads of a job that was said to be over but does not read so yet: shortest and longest distance. */
const [lagMs, longestLagMs] = [1_000, 30_000];

/**
 * Follows one job by what its source brings, and by polls where it brings nothing for as long as the source's schedule
 * says. Each log event is yielded once and no status moves back; the end is read from GET /jobs/{id}. Rejects with the
 * signal's reason, and leaves no timer or socket behind.
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
        // The end comes as `finished`, read from the job itself.
        if (news.type !== "status" || isTerminal(news.status.status)) continue;
        expectedAt = localInstant(context, news.status.estimatedCompletionAt) ?? expectedAt;
        yield* tellStatus(news.status, seen);
        continue;
      }
      // After the first hint polls of the job follow each other, ever further apart.
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
      // Only the whole job can show that an unknown status is final.
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

/** Reads the job whole; true once it has ended, which is then reported. */
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
