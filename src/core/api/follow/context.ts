import { BoundedMap } from "../bounded-map.ts";
import type { JobResult, JobStatusView, JobsApi, LogEvent } from "../endpoints/jobs.ts";
import type { HttpContext } from "../http/call.ts";
import type { StatusClass } from "../job-status.ts";
import type { Priority } from "../pace/fair-queue.ts";

/** What every follow of one client works with. */
export interface FollowContext extends HttpContext {
  readonly jobs: JobsApi;
  readonly history: DurationHistory;
  readonly hints: Hints;
  /** When jobs should be done by the acknowledgements of their submits: ISO-8601, on the service's clock. */
  readonly estimates: BoundedMap<string, string>;
}

/** A follow without an estimate reads one. */
export const ackEstimates = () => new BoundedMap<string, string>(50_000);

/** An instant of the service as this machine's clock shows it. */
export function localInstant(context: FollowContext, instant: string | null | undefined): number | null {
  const at = Date.parse(instant ?? "");
  return Number.isNaN(at) ? null : at - context.pacer.clockOffsetMs();
}

/** When the job should be done: the estimate of its acknowledgement, else what jobs of its model took. */
export function firstExpectation(context: FollowContext, jobId: string, options: FollowOptions): number | null {
  const estimate = localInstant(context, options.estimatedCompletionAt ?? context.estimates.get(jobId));
  if (estimate !== null) return estimate;
  const typicalMs = context.history.typicalMs(options.model ?? null);
  return typicalMs === null ? null : context.clock.now() + typicalMs;
}

/** How long past jobs of each model took, for when the service has no estimate. */
export interface DurationHistory {
  /** Milliseconds from creation to completion that half of the model's recent jobs kept within, or null. */
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

/** News that a job may have ended, such as a webhook. A hint is no truth: whoever gets one reads the job. */
export interface Hints {
  /** True once something feeds hints, so that `auto` may wait for them. */
  readonly fed: boolean;
  /** Declares that hints will come. */
  feed(): void;
  /** Tells those who follow the job, now or as soon as they begin. */
  notify(jobId: string): void;
  /** Calls `heard` at the next hint, at once when one came before. Returns how to stop listening. */
  listen(jobId: string, heard: () => void): () => void;
}

/** Hints that came before anybody listened; the oldest are forgotten, and the timer behind each follow makes up for it. */
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
   * know: treat it as a failure that a person has to read.
   */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> };

export interface FollowOptions {
  /** Default `auto`: webhook where a receiver feeds the client, else stream, else poll. */
  readonly strategy?: "auto" | FollowStrategyName | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the follow throws TimeoutError; the job continues. Default: none. */
  readonly deadlineMs?: number | undefined;
  /** Higher goes first at the pacer. Default 0. */
  readonly priority?: Priority | undefined;
  /** When the job should be done, ISO-8601. Default: the ack's estimate, where this client submitted the job. */
  readonly estimatedCompletionAt?: string | null | undefined;
  /** The model, so that past durations of its jobs can replace an absent estimate. */
  readonly model?: string | undefined;
  /** Called with every event before it is yielded. */
  readonly onUpdate?: ((event: FollowEvent) => void) | undefined;
}
