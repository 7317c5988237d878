import type { RunState } from "../../journal/state.ts";
import { InvalidOptionError } from "../errors.ts";
import { type AdoptionParts, unresolvedAttempt } from "./unresolved.ts";

/** Throws unless the step is unresolved and the job may be its own; null says that no job was made. */
export async function checkAdoption(
  { client, repository }: AdoptionParts,
  state: RunState,
  adoption: { readonly step: string; readonly jobId: string | null },
): Promise<void> {
  const { step, jobId } = adoption;
  const attempt = unresolvedAttempt(state, step);
  if (jobId === null) return;
  const list = `showrunner adopt ${state.runId} ${step}   (lists the jobs it may have made)`;
  // Its own, which the service did not show for a while.
  if (jobId === attempt.jobId) return;
  if ((await repository.knownJobs()).has(jobId)) {
    throw new InvalidOptionError("job-id", `${jobId} is the job of another step already.`, list);
  }
  const job = await client.job(jobId);
  if (job.model === "" || job.model === attempt.model) return;
  throw new InvalidOptionError("job-id", `${jobId} ran on ${job.model}, and ${step} asked for ${attempt.model}.`, list);
}
