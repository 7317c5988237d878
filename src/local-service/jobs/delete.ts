import { rm } from "node:fs/promises";
import { refuse, refuseForNow } from "../http/refusal.ts";
import { isTerminal } from "../lifecycle/job.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow } from "../store/rows.ts";

const inProgress = (message: string) => refuse("ALREADY_IN_PROGRESS", message);

const unfinished = () => refuseForNow("UNAVAILABLE", "The deletion could not be finished; repeat it.", 1);

function assertDeletable({ store, faults }: ServiceContext, job: JobRow): void {
  if (!isTerminal(job.status)) throw inProgress("The job has not finished yet.");
  if (job.kind === "voice") throw refuse("INVALID_ARGUMENT", "A voice-clone job cannot be deleted.");
  if (store.jobs.runningReaders(job.seq) > 0)
    throw inProgress("A job that reads an output of this one is still running.");
  if (faults.failsDelete(job)) throw unfinished();
}

/**
 * Removes prompt, logs and media; the job stays listed. Doing it again is no error.
 * @throws Refusal 409 while it, or a job that reads its output, runs; 400 for a voice clone; 503 when it must be repeated
 */
export async function deleteJob(service: ServiceContext, asked: JobRow): Promise<void> {
  const { store, clock, dataDir, onDefect } = service;
  const paths = await store.write(() => {
    const job = store.jobs.bySeq(asked.seq) ?? asked;
    if (job.deletedAt === null) {
      assertDeletable(service, job);
      store.outputs.expireAll(job.seq);
      store.events.clear(job.seq);
      store.jobs.markDeleted(job.seq, clock.now());
    }
    return store.outputs.ofJob(job.seq).flatMap((output) => output.path ?? []);
  });
  if (paths.length === 0) return;
  try {
    await Promise.all(paths.map((path) => rm(dataDir.absolute(path), { force: true })));
  } catch (error) {
    onDefect(error, "");
    throw unfinished();
  }
  await store.write(() => store.outputs.forgetPaths(asked.seq));
}
