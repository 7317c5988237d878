import type { JobResult, JobStatus, JobStatusView, LogEvent, Output } from "./endpoints/jobs.ts";

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

/** Returns whether the status is final. An unknown status is judged by its wording. */
export function isTerminal(status: JobStatus): boolean {
  const kind = classifyStatus(status);
  return (
    kind === "completed" || kind === "failed" || (kind === "unrecognised" && soundsFinal.test(status.toUpperCase()))
  );
}

/**
 * Returns whether the job has ended. A job with an unknown status has ended if it has a completion time or an error.
 */
export function isFinished(job: JobResult): boolean {
  if (isTerminal(job.status)) return true;
  return classifyStatus(job.status) === "unrecognised" && (job.completedAt !== null || job.error !== null);
}

export function statusRank(status: JobStatus): number {
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
