import type { SubmitAck } from "../wire/job.ts";

/** When jobs should be done by the acknowledgements of their submits, for whoever follows them later. */
export interface AckEstimates {
  /** ISO-8601 on the service's clock, or null when this client submitted no such job or was told nothing. */
  of(jobId: string): string | null;
  remember(ack: SubmitAck): void;
}

/** The oldest are forgotten; a follow without an estimate asks for one. */
const remembered = 50_000;

export function createAckEstimates(): AckEstimates {
  const estimates = new Map<string, string>();
  return {
    of: (jobId) => estimates.get(jobId) ?? null,
    remember({ jobId, estimatedCompletionAt }) {
      if (estimatedCompletionAt === null) return;
      estimates.set(jobId, estimatedCompletionAt);
      if (estimates.size > remembered) estimates.delete(estimates.keys().next().value ?? "");
    },
  };
}
