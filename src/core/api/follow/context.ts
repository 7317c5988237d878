import { BoundedMap } from "../bounded-map.ts";
import type { JobResult, JobStatus, JobStatusView, JobsApi, LogEvent, Output } from "../endpoints/jobs.ts";
import type { HttpContext } from "../http/call.ts";
import type { Priority } from "../pace/fair-queue.ts";

export interface FollowContext extends HttpContext {
  readonly jobs: JobsApi;
  readonly history: DurationHistory;
  readonly hints: Hints;
  /** Estimated completion times by job id, as ISO 8601 timestamps on the service's clock. */
  readonly estimates: BoundedMap<string, string>;
}

export const ackEstimates = () => new BoundedMap<string, string>(50_000);

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

interface DurationHistory {
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

interface Hints {
  /** True if webhooks are expected. The follow strategy `auto` then waits for them. */
  readonly fed: boolean;
  feed(): void;
  /** Reports a webhook to the job's followers. If nobody follows the job yet, its next follower gets it. */
  notify(jobId: string): void;
  /**
   * Calls `heard` whenever a webhook for the job arrives, and once if one arrived before this call. Returns a function
   * that stops listening.
   */
  listen(jobId: string, heard: () => void): () => void;
}

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

/** An update of a followed job. The last update is always `finished`. */
export type FollowEvent =
  | { readonly type: "status"; readonly status: JobStatusView }
  | { readonly type: "log"; readonly log: LogEvent }
  /** The `auto` strategy switched to another one, because the previous one did not work. */
  | {
      readonly type: "switched";
      readonly from: FollowStrategyName;
      readonly to: FollowStrategyName;
      readonly reason: string;
    }
  /**
   * The job has ended. If `outcome` is `unrecognised`, this version does not know the final status, and a person must
   * check the job.
   */
  | { readonly type: "finished"; readonly job: JobResult; readonly outcome: Exclude<StatusClass, "open"> };

/** Options for `follow`. */
export interface FollowOptions {
  /**
   * How to detect the end of the job. Default: `auto`, which waits for webhooks if they are expected, and otherwise
   * reads a stream or, if that fails, polls.
   */
  readonly strategy?: "auto" | FollowStrategyName | undefined;
  /** Stops following the job. The job itself continues. */
  readonly signal?: AbortSignal | undefined;
  /** Time in milliseconds after which `follow` throws TimeoutError. Default: no limit. */
  readonly deadlineMs?: number | undefined;
  /** Requests with a higher priority are sent first. Default: 0. */
  readonly priority?: Priority | undefined;
  /**
   * When the job is expected to end, as an ISO 8601 timestamp. Default: the service's estimate, if this client
   * submitted the job.
   */
  readonly estimatedCompletionAt?: string | null | undefined;
  /** The model's id. If the service gives no estimate, the job's end is estimated from earlier jobs with this model. */
  readonly model?: string | undefined;
  /** Called with every event before it is yielded. */
  readonly onUpdate?: ((event: FollowEvent) => void) | undefined;
}

/** A job's stage. `unrecognised` means that this version does not know the status. */
export type StatusClass = "open" | "completed" | "failed" | "unrecognised";

/** Returns the stage that a status belongs to. */
export function classifyStatus(status: JobStatus): StatusClass {
  switch (status) {
    case "IN_QUEUE":
    case "IN_PROGRESS":
      return "open";
    case "COMPLETED":
      return "completed";
    case "FAILED":
      return "failed";
    default:
      return "unrecognised";
  }
}

const soundsFinal = /CANCEL|EXPIRE|ABORT|TIMED_?OUT|REJECT|ERROR|FAIL|DELETE|DONE|SUCCE|COMPLET|FINISH|REFUND|BLOCK/;

/** Returns whether the status is final. An unknown status counts as final if it sounds final, such as `CANCELLED`. */
export function isTerminal(status: JobStatus): boolean {
  const kind = classifyStatus(status);
  return (
    kind === "completed" || kind === "failed" || (kind === "unrecognised" && soundsFinal.test(status.toUpperCase()))
  );
}

/**
 * Returns whether the job has ended. A job with an unknown status counts as ended if it has a completion time or an
 * error.
 */
export function isFinished(job: JobResult): boolean {
  if (isTerminal(job.status)) return true;
  return classifyStatus(job.status) === "unrecognised" && (job.completedAt !== null || job.error !== null);
}

function statusRank(status: JobStatus): number {
  if (status === "IN_QUEUE") return 0;
  return isTerminal(status) ? 2 : 1;
}

/** Returns the completed outputs that another job can use as input. */
export function usableOutputs(job: JobResult): readonly Output[] {
  return job.outputs.filter(
    (output) => output.status === "COMPLETED" && (output.assetId !== null || output.voiceId !== null),
  );
}

/** Remembers the updates of one job, so that none is reported twice or out of order. */
export class SeenUpdates {
  #logs: Set<number> | null = null;
  #last: Pick<JobStatusView, "status" | "progress" | "estimatedCompletionAt"> | null = null;

  get isOver(): boolean {
    return this.#last !== null && isTerminal(this.#last.status);
  }

  addLog({ id }: LogEvent): boolean {
    this.#logs ??= new Set();
    return this.#logs.size < this.#logs.add(id).size;
  }

  addStatus({ status, progress, estimatedCompletionAt }: JobStatusView): boolean {
    const last = this.#last;
    if (last !== null) {
      const [before, after] = [statusRank(last.status), statusRank(status)];
      if (after < before || (after === before && after === 2)) return false;
      if (after === before && (progress ?? 0) < (last.progress ?? 0)) return false;
      const isSame = last.status === status && last.progress === progress;
      if (isSame && last.estimatedCompletionAt === estimatedCompletionAt) return false;
    }
    this.#last = { status, progress, estimatedCompletionAt };
    return true;
  }
}
