import { rm } from "node:fs/promises";
import { DAY_MS } from "../../core/kit/duration.ts";
import type { ServiceContext } from "../service-context.ts";

const SWEEP_EVERY_MS = 600_000;
const POLL_EVERY_MS = 1_000;
/** Smallest change in the clock's offset that is stored, in milliseconds. */
const DRIFT_MS = 1_000;
const BATCH = 200;
/** Uploads are kept this long after their URL expires, because queued jobs may still read them. */
const UPLOAD_GRACE_MS = DAY_MS;

/**
 * Key of the stored clock offset, which is the service's time minus the machine's time. Storing it keeps the service's
 * time from running backwards after a restart.
 */
export const CLOCK_OFFSET = "clock_offset_ms";

type Ports = Pick<ServiceContext, "store" | "clock" | "dataDir" | "onDefect">;

export function startRetention({ store, clock, dataDir, onDefect }: Ports): () => void {
  let sweepAt = clock.now() + SWEEP_EVERY_MS;
  let storedOffset = Number(store.meta.get(CLOCK_OFFSET) ?? 0);

  function expireJobs(): string[] {
    const due = store.jobs.toExpire(clock.now(), BATCH).filter((job) => store.jobs.runningReaders(job.seq) === 0);
    return due.flatMap((job) => {
      const paths = store.outputs.ofJob(job.seq).flatMap((output) => output.path ?? []);
      store.outputs.expireMade(job.seq);
      store.jobs.setExpiry(job.seq, null);
      return paths;
    });
  }

  function expireUploads(): string[] {
    const due = store.files.expiredBy(clock.now() - UPLOAD_GRACE_MS, BATCH);
    for (const file of due) store.files.remove(file.fileId);
    return due.map((file) => file.path);
  }

  async function sweep(): Promise<void> {
    sweepAt = clock.now() + SWEEP_EVERY_MS;
    const paths = await store.write(() => {
      store.keys.dropTokens(clock.now());
      return [...expireJobs(), ...expireUploads()];
    });
    await Promise.all(paths.map((path) => rm(dataDir.absolute(path), { force: true })));
  }

  async function storeOffset(): Promise<void> {
    const offset = Math.max(0, clock.now() - Date.now());
    if (Math.abs(offset - storedOffset) < DRIFT_MS) return;
    storedOffset = offset;
    await store.write(() => store.meta.set(CLOCK_OFFSET, String(offset)));
  }

  const polling = setInterval(() => {
    const work = clock.now() >= sweepAt ? [storeOffset(), sweep()] : [storeOffset()];
    Promise.all(work).catch((error: unknown) => onDefect(error, ""));
  }, POLL_EVERY_MS);
  polling.unref();
  return () => clearInterval(polling);
}
