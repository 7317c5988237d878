import { formatDuration } from "./duration.ts";

export interface Expected {
  readonly ms: number;
  /** True if the duration is based on the model's past requests, not on a typical value. */
  readonly isLearned: boolean;
}

/** A request that takes longer than expected, or longer than its `within`. */
export interface Late {
  readonly since: number;
  /** Expected duration of the request. Null unless the run reported it as slow. */
  readonly expected: Expected | null;
  /** The request's `within`; null if it has not passed. */
  readonly withinMs: number | null;
  readonly jobId: string | null;
}

/** Describes the delay: `takes longer than usual: 9 min 00 s, usually 2 min 00 s; its job job_1 is still polled`. */
export function lateText({ since, expected, withinMs, jobId }: Late, now: number): string {
  const elapsedMs = now - since;
  const long = expected === null ? `has been running for ${formatDuration(elapsedMs)}` : slowText(expected, elapsedMs);
  const over = withinMs === null ? "" : `, longer than its limit of ${formatDuration(withinMs)}`;
  return `${long}${over}; ${stillText(jobId)}`;
}

export function slowText({ ms, isLearned }: Expected, elapsedMs: number): string {
  const [than, known] = isLearned ? ["usual", "usually"] : ["expected", "expected"];
  return `takes longer than ${than}: ${formatDuration(elapsedMs)}, ${known} ${formatDuration(ms)}`;
}

export function stillText(jobId: string | null): string {
  return jobId === null ? "its answer is still awaited" : `its job ${jobId} is still polled`;
}
