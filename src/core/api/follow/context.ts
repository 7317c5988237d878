import { BoundedMap } from "../bounded-map.ts";
import type { JobResult, JobStatusView, JobsApi, LogEvent } from "../endpoints/jobs.ts";
import type { HttpContext } from "../http/call.ts";
import type { StatusClass } from "../job-status.ts";
import type { Priority } from "../pace/fair-queue.ts";

export interface FollowContext extends HttpContext {
  readonly jobs: JobsApi;
  readonly history: DurationHistory;
  readonly hints: Hints;
  /** Estimated completion times from acknowledgements, by job id, as ISO 8601 timestamps on the service's clock. */
  readonly estimates: BoundedMap<string, string>;
}

export const ackEstimates = () => new BoundedMap<string, string>(50_000);

/** Converts an ISO 8601 timestamp on the service's clock to epoch milliseconds on this machine's clock. */
export function localInstant(context: FollowContext, instant: string | null | undefined): number | null {
  const at = Date.parse(instant ?? "");
  return Number.isNaN(at) ? null : at - context.pacer.clockOffsetMs();
}

export function firstExpectation(context: FollowContext, jobId: string, options: FollowOptions): number | null {
  const estimate = localInstant(context, options.estimatedCompletionAt ?? context.estimates.get(jobId));
  if (estimate !== null) return estimate;
  const typicalMs = context.history.typicalMs(options.model ?? null);
  return typicalMs === null ? null : context.clock.now() + typicalMs;
}

export interface DurationHistory {
  /** Median time from creation to completion of the model's recent jobs, in milliseconds; null if unknown. */
  typicalMs(model: string | null): number | null;
  learn(job: JobResult): void;
}

const remembered = 20;

export function createDurationHistory(): DurationHistory {
  const durations = new BoundedMap<string, number[]>(500);
  return {
    typicalMs(model) {
      const known = durations.get(model ?? "");
      if (!known) return null;
      return known.toSorted((a, b) => a - b)[known.length >> 1] ?? null;
    },
    learn(job) {
      const tookMs = Date.parse(job.completedAt ?? "") - Date.parse(job.createdAt ?? "");
      if (!(tookMs >= 0) || job.model === "") return;
      const known = durations.get(job.model) ?? [];
      durations.set(job.model, [...known, tookMs].slice(-remembered));
    },
  };
}

/** Hints, such as webhooks, that a job may have ended. A hint proves nothing, so its receiver reads the job. */
export interface Hints {
  /** True once hints are expected. Only then does `auto` wait for them. */
  readonly fed: boolean;
  /** Declares that hints will arrive. */
  feed(): void;
  /** Passes a hint to the job's followers now, or to the first follower that starts listening later. */
  notify(jobId: string): void;
  /** Calls `heard` at the next hint, or at once if a hint arrived earlier. Returns a function that stops listening. */
  listen(jobId: string, heard: () => void): () => void;
}

/** Maximum number of hints kept for later followers. If a hint is dropped, its follower polls by its own timer. */
const mostEarly = 50_000;

export function createHints(): Hints {
  const listeners = new Map<string, Set<() => void>>();
  const early = new BoundedMap<string, true>(mostEarly);
  let fed = false;
  return {
    get fed() {
      return fed;
    },
    feed() {
      fed = true;
    },
    notify(jobId) {
      fed = true;
      const waiting = listeners.get(jobId);
      if (waiting) {
        for (const heard of [...waiting]) heard();
        return;
      }
      early.set(jobId, true);
    },
    listen(jobId, heard) {
      if (early.delete(jobId)) queueMicrotask(heard);
      const waiting = listeners.get(jobId) ?? new Set();
      listeners.set(jobId, waiting);
      waiting.add(heard);
      return () => {
        waiting.delete(heard);
        if (waiting.size === 0 && listeners.get(jobId) === waiting) listeners.delete(jobId);
      };
    },
  };
}

/** A way of detecting the end of a job. */
export type FollowStrategyName = "stream" | "poll" | "webhook";

/** An update of a followed job. The last one is always `finished`. */
export type FollowEvent =
  | { readonly type: "status"; readonly status: JobStatusView }
  | { readonly type: "log"; readonly log: LogEvent }
  /** The strategy `auto` switched to another strategy because the first did not work. */
  | {
      readonly type: "switched";
      readonly from: FollowStrategyName;
      readonly to: FollowStrategyName;
      readonly reason: string;
    }
  /**
   * The job has ended, and `job` was read after its end. `outcome` is `unrecognised` if this version does not recognize
   * the final status: treat such a job as a failure that a person must look at.
   */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> };

/** Options of `follow`. */
export interface FollowOptions {
  /** Default `auto`: `webhook` if webhooks reach the client, otherwise `stream`, and `poll` if that fails. */
  readonly strategy?: "auto" | FollowStrategyName | undefined;
  /** Ends the follow. The job continues. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the follow throws TimeoutError. The job continues. Default: no limit. */
  readonly deadlineMs?: number | undefined;
  /** Requests with a higher priority are sent first. Default 0. */
  readonly priority?: Priority | undefined;
  /** Expected end of the job (ISO 8601). Default: the acknowledgement's estimate, if this client submitted the job. */
  readonly estimatedCompletionAt?: string | null | undefined;
  /** The model's id. If no estimate is known, the durations of the model's past jobs are used. */
  readonly model?: string | undefined;
  /** Called with every event before it is yielded. */
  readonly onUpdate?: ((event: FollowEvent) => void) | undefined;
}
