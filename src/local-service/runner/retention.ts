import { rm } from "node:fs/promises";
import type { ServiceContext } from "../service-context.ts";

const SWEEP_EVERY_MS = 600_000;
const BATCH = 200;
/** Uploads stay this long after their handle expired, for jobs that wait in the queue with them. */
const UPLOAD_GRACE_MS = 86_400_000;

type Ports = Pick<ServiceContext, "store" | "clock" | "dataDir" | "onDefect">;

/**
 * Removes the bytes of what has expired. Readers see the expiry at its instant without this; the sweep only frees space.
 * Outputs that an unfinished job reads stay until it has finished.
 */
export function startRetention({ store, clock, dataDir, onDefect }: Ports): () => void {
  let cancel = () => undefined as void;

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
    const paths = await store.write(() => {
      store.keys.dropTokens(clock.now());
      return [...expireJobs(), ...expireUploads()];
    });
    await Promise.all(paths.map((path) => rm(dataDir.absolute(path), { force: true })));
  }

  function next(): void {
    cancel = clock.at(clock.now() + SWEEP_EVERY_MS, () => {
      sweep().catch((error: unknown) => onDefect(error, ""));
      next();
    });
  }

  next();
  return () => cancel();
}
