import { statusRank } from "../job-status.ts";
import type { JobResult, JobStatusView, LogEvent } from "../wire/job.ts";
import type { FollowEvent } from "./follow-event.ts";

/** Remembers what was told of one job, so that nothing is told twice and no status moves back. */
export class UpdateDeduper {
  #seen: Set<number> | null = null;
  #rank = -1;
  #last = "";

  status(view: JobStatusView): FollowEvent[] {
    const events = this.logs(view.logs);
    const rank = statusRank(view.status);
    const telling = `${view.status} ${view.progress} ${view.estimatedCompletionAt}`;
    if (rank < this.#rank || telling === this.#last) return events;
    this.#rank = rank;
    this.#last = telling;
    return [...events, { type: "status", status: view }];
  }

  logs(logs: readonly LogEvent[]): FollowEvent[] {
    if (logs.length === 0) return [];
    this.#seen ??= new Set();
    const seen = this.#seen;
    const fresh = logs.filter((log) => !seen.has(log.id));
    for (const log of fresh) seen.add(log.id);
    return fresh.map((log) => ({ type: "log", log }));
  }

  /** A job read whole, as the status it shows. */
  job(job: JobResult): FollowEvent[] {
    return this.status({
      jobId: job.jobId,
      status: job.status,
      progress: null,
      estimatedCompletionAt: null,
      logs: job.logs ?? [],
      logsNextCursor: null,
    });
  }
}
