import { formatDuration } from "./duration.ts";

/** How long a request is expected to take. */
export interface Expected {
  readonly ms: number;
  /** By what its model took before, rather than by what is typical. */
  readonly isLearned: boolean;
}

/** A request that takes longer than expected, or than it is waited for. */
export interface Late {
  /** When it was accepted, epoch milliseconds. */
  readonly since: number;
  /** Null where it was not said that it takes long. */
  readonly expected: Expected | null;
  /** Its `within`, where that is over; else null. */
  readonly withinMs: number | null;
  /** Null where it has none, or none is known. */
  readonly jobId: string | null;
}

/** `takes longer than usual: 9 min 00 s, usually 2 min 00 s; its job job_1 is still asked for` */
export function lateText({ since, expected, withinMs, jobId }: Late, now: number): string {
  const elapsedMs = now - since;
  const long = expected === null ? `is under way for ${formatDuration(elapsedMs)}` : slowText(expected, elapsedMs);
  const over = withinMs === null ? "" : `, and was waited for ${formatDuration(withinMs)}`;
  return `${long}${over}; ${stillText(jobId)}`;
}

export function slowText({ ms, isLearned }: Expected, elapsedMs: number): string {
  const [than, known] = isLearned ? ["usual", "usually"] : ["expected", "expected"];
  return `takes longer than ${than}: ${formatDuration(elapsedMs)}, ${known} ${formatDuration(ms)}`;
}

/** Of what is waited for no longer. */
export function stillText(jobId: string | null): string {
  return jobId === null ? "its answer is still awaited" : `its job ${jobId} is still asked for`;
}
