import { findVoice } from "../catalog/catalog.ts";
import { progressEvent, recoveredEvents, startedEvents } from "../lifecycle/job.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { JobRow } from "../store/rows.ts";
import { jobFinisher, renderJob, WORK_FAILED } from "./finish.ts";

const PROGRESS_AT = [0.25, 0.5, 0.75];

export function createRunner(ports: ServiceParts) {
  const { store, clock, options, catalog } = ports;
  const finisher = jobFinisher(ports);
  const stopping = new AbortController();
  const active = new Set<Promise<void>>();
  const sleepers = new Set<() => void>();
  const waiting: number[] = [];

  const rendering = {
    renderer: ports.renderer,
    dataDir: ports.dataDir,
    secret: ports.secret,
    onError(error: unknown) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code !== "RENDER_INPUT" && code !== "RENDER_ABORTED") ports.onDefect(error, "");
    },
    voice: (voiceId: string, job: JobRow) => findVoice(store, catalog, voiceId, job),
  };

  function pump(): void {
    while (!stopping.signal.aborted && active.size < options.maxRunning) {
      const seq = waiting.shift();
      if (seq === undefined) return;
      const work = run(seq)
        .catch((error: unknown) => ports.onDefect(error, ""))
        .finally(() => {
          active.delete(work);
          pump();
        });
      active.add(work);
    }
  }

  function queue(seq: number): void {
    waiting.push(seq);
    pump();
  }

  function until(dueMs: number): Promise<void> {
    if (dueMs <= clock.now()) return Promise.resolve();
    return new Promise((resolve) => {
      const go = () => {
        cancel();
        sleepers.delete(go);
        resolve();
      };
      const cancel = clock.at(dueMs, go);
      sleepers.add(go);
    });
  }

  function start(seq: number): JobRow | undefined {
    const job = store.jobs.bySeq(seq);
    if (!job || job.completedAt !== null) return undefined;
    const isNew = job.status === "IN_QUEUE";
    if (isNew) store.jobs.start(seq, clock.now());
    ports.record(job, isNew ? startedEvents : recoveredEvents);
    return store.jobs.bySeq(seq);
  }

  function announceProgress(job: JobRow, fraction: number): void {
    const noted = store.write(() => {
      const current = store.jobs.bySeq(job.seq);
      if (current?.status === "IN_PROGRESS") ports.record(current, [progressEvent(fraction)]);
    });
    noted.catch((error: unknown) => ports.onDefect(error, ""));
  }

  function followProgress(job: JobRow): () => void {
    if (job.renderMs === 0 || job.startedAt === null) return () => undefined;
    const from = job.startedAt;
    const due = PROGRESS_AT.map((fraction) => ({ fraction, at: from + fraction * job.renderMs }));
    const ahead = due.filter(({ at }) => at > clock.now());
    const cancels = ahead.map(({ fraction, at }) => clock.at(at, () => announceProgress(job, fraction)));
    return () => cancels.forEach((cancel) => void cancel());
  }

  async function run(seq: number): Promise<void> {
    const job = await store.write(() => start(seq));
    if (!job) return;
    const stopProgress = followProgress(job);
    const outputs = renderJob(rendering, job, catalog.find(job.model), stopping.signal);
    await until((job.startedAt ?? 0) + job.renderMs);
    const rendered = await outputs;
    stopProgress();
    if (stopping.signal.aborted) return;
    await store.write(() => finisher.finish(seq, rendered, ports.faults.endOf(job)));
  }

  return {
    /** Queues a job. Call this after committing the transaction that accepted the job. */
    enqueue(job: JobRow): void {
      const due = job.createdAt + job.queueMs;
      if (due <= clock.now()) queue(job.seq);
      else clock.at(due, () => queue(job.seq));
    },
    async recover(): Promise<void> {
      for (const seq of store.jobs.unfinished()) {
        const job = store.jobs.bySeq(seq);
        if (job?.kind === "chat") await store.write(() => finisher.fail(seq, WORK_FAILED));
        else queue(seq);
      }
    },
    running: () => active.size,
    /** Stops all jobs. Unfinished jobs are resumed at the next start. */
    async close(): Promise<void> {
      stopping.abort();
      for (const wakeUp of [...sleepers]) wakeUp();
      await Promise.allSettled(active);
    },
  };
}

export type Runner = ReturnType<typeof createRunner>;
