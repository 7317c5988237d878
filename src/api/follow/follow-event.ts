import type { StatusClass } from "../job-status.ts";
import type { JobResult, JobStatusView, LogEvent } from "../wire/job.ts";

export type FollowStrategyName = "stream" | "poll" | "webhook";

/** What following a job tells. The last event is always `finished`. */
export type FollowEvent =
  | { readonly type: "status"; readonly status: JobStatusView }
  | { readonly type: "log"; readonly log: LogEvent }
  /** `auto` left a strategy that did not work and continues with another. */
  | {
      readonly type: "switched";
      readonly from: FollowStrategyName;
      readonly to: FollowStrategyName;
      readonly reason: string;
    }
  /**
   * The truth, read from the job itself. `outcome` is `unrecognised` for a final status that this version does not
   * know: treat it as a failure that needs a look.
   */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> };

export interface FollowOptions {
  /** Default `auto`: webhook where a receiver feeds the client, else stream, else poll. */
  readonly strategy?: "auto" | FollowStrategyName | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the follow throws TimeoutError; the job continues. Default: none. */
  readonly deadlineMs?: number | undefined;
  /** Higher goes first at the pacer. Default 0. */
  readonly priority?: number | undefined;
  /** When the job should be done, ISO-8601. Default: the ack's estimate, where this client submitted the job. */
  readonly estimatedCompletionAt?: string | null | undefined;
  /** The model, so that past durations of its jobs can replace an absent estimate. */
  readonly model?: string | undefined;
  /** Called with every event before it is yielded. */
  readonly onUpdate?: ((event: FollowEvent) => void) | undefined;
}
