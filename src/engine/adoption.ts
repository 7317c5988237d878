import type { Client, JobSummary } from "../api/index.ts";
import { type AttemptState, lastAttempt, type RunState } from "../journal/state.ts";
import { InvalidOptionError } from "./errors.ts";
import type { RunShelf } from "./run-shelf.ts";

/** A job made this long before or after an intent may be its own, milliseconds. */
const NEAR_MS = 10 * 60_000;

/** Jobs of the step's model around the unanswered submit that no run of the journal knows. */
export async function candidatesFor(
  { client, shelf }: { readonly client: Client; readonly shelf: RunShelf },
  state: RunState,
  step: string,
): Promise<readonly JobSummary[]> {
  const attempt = unresolvedAttempt(state, step);
  const known = await shelf.knownJobs();
  const found: JobSummary[] = [];
  for await (const job of client.modelJobs(attempt.model!)) {
    const createdAt = Date.parse(job.createdAt ?? "");
    if (createdAt < attempt.intendedAt! - NEAR_MS) break;
    const isFree = job.jobId === attempt.jobId || !known.has(job.jobId);
    if (createdAt <= attempt.intendedAt! + NEAR_MS && isFree) found.push(job);
  }
  return found;
}

/** Throws unless the step is unresolved and the job may be its own; null says that no job was made. */
export async function checkAdoption(
  { client, shelf }: { readonly client: Client; readonly shelf: RunShelf },
  state: RunState,
  adoption: { readonly step: string; readonly jobId: string | null },
): Promise<void> {
  const { step, jobId } = adoption;
  const attempt = unresolvedAttempt(state, step);
  if (jobId === null) return;
  const list = `showrunner adopt ${state.runId} ${step}   (lists the jobs it may have made)`;
  // Its own, which the service did not show for a while.
  if (jobId === attempt.jobId) return;
  if ((await shelf.knownJobs()).has(jobId)) {
    throw new InvalidOptionError("job-id", `${jobId} is the job of another step already.`, list);
  }
  const job = await client.job(jobId);
  if (job.model === "" || job.model === attempt.model) return;
  throw new InvalidOptionError("job-id", `${jobId} ran on ${job.model}, and ${step} asked for ${attempt.model}.`, list);
}

function unresolvedAttempt(state: RunState, step: string): AttemptState {
  const found = Object.hasOwn(state.steps, step) ? state.steps[step] : undefined;
  const attempt = found === undefined ? null : lastAttempt(found);
  if (attempt?.phase === "unresolved") return attempt;
  const message =
    found === undefined ? `run "${state.runId}" has no step ${step}` : `${step} is ${found.status}, not unresolved`;
  throw new InvalidOptionError("step", `${message}.`, `showrunner show ${state.runId}`);
}
