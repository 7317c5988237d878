import { ApiError, type Client } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { Account } from "../../journal/run-repository.ts";
import type { AttemptState, RunState } from "../../journal/state.ts";
import { InvalidOptionError } from "../errors.ts";

/** Jobs that are looked up before an account counts as another one. */
const MOST_ASKED = 20;

export type AccountMove = RunEvent & { readonly type: "run.account.moved" };

/**
 * What moves a run to a new key or address of its account, once the service there showed that it knows a job of the run.
 * A run without jobs may move as long as no submit of it can have made one. Throws otherwise; nothing was changed.
 */
export async function accountMove(
  { client, account }: { readonly client: Client; readonly account: Account },
  state: RunState,
): Promise<AccountMove> {
  const { origin: baseUrl, keyId } = account;
  const jobs = jobsOf(state);
  if (jobs.length === 0) {
    checkNothingSent(state);
    return { type: "run.account.moved", baseUrl, keyId, jobId: null };
  }
  const requested = jobs.slice(0, MOST_ASKED);
  for (const { jobId, model } of requested) {
    if (await isKnown(client, jobId, model)) return { type: "run.account.moved", baseUrl, keyId, jobId };
  }
  const shown = requested[0]!.jobId + (requested.length === 1 ? "" : ` and ${requested.length - 1} more`);
  const message = `key ${keyId} at ${baseUrl} knows none of the jobs of run "${state.runId}" (${shown}): it is another account, which would pay for everything again. Use a key of the account that paid for them.`;
  throw new InvalidOptionError("accountMoved", message, `showrunner show ${state.runId}`);
}

/** The newest first: old ones may have been deleted. */
function jobsOf({ steps }: RunState): readonly { readonly jobId: string; readonly model: string | null }[] {
  const jobs = Object.values(steps).flatMap(({ attempts, chats }) => [
    ...attempts.filter(isOfService).map(({ jobId, model, submittedAt }) => ({ jobId, model, at: submittedAt ?? 0 })),
    ...chats.map(({ jobId, sentAt }) => ({ jobId, model: null, at: sentAt })),
  ]);
  return jobs
    .flatMap((job) => (job.jobId === null ? [] : [{ ...job, jobId: job.jobId }]))
    .toSorted((a, b) => b.at - a.at);
}

/** What was sent to a provider says nothing of the account. */
function isOfService({ provider }: AttemptState): boolean {
  return provider === undefined;
}

async function isKnown(client: Client, jobId: string, model: string | null): Promise<boolean> {
  try {
    const job = await client.job(jobId);
    return model === null || job.model === "" || job.model === model;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 403 || error.status === 400))
      return false;
    throw error;
  }
}

/** Afterwards nobody could tell whether a job at the old address is the run's. */
function checkNothingSent({ runId, steps }: RunState): void {
  const sent = Object.values(steps).find(({ attempts, chats }) => {
    const isOpen = attempts
      .filter(isOfService)
      .some(({ phase }) => phase.startsWith("submitting") || phase === "unresolved");
    return isOpen || chats.some(({ phase }) => phase === "sent" || phase === "abandoned");
  });
  if (sent === undefined) return;
  const message = `${sent.path} was sent and never answered, and run "${runId}" has no job that would show that this is its account. Resume it with the key and address that it was started with.`;
  throw new InvalidOptionError("accountMoved", message, `showrunner show ${runId}`);
}
