import type { SliceOptions } from "../../core/engine/index.ts";
import type { Showrunner } from "../../index.ts";
import type { Engine } from "./engine.ts";

/** Options for `startWorker`. */
export interface WorkerOptions {
  /** A Showrunner that uses the journal shared by all workers. */
  readonly show: Showrunner;
  /** The engine that gives work to this process. All workers use the same kind of engine. */
  readonly engine: Engine;
  /**
   * Finds the pipeline of a run that has local functions. Default: such runs are left to workers that have their code.
   */
  readonly findPipeline?: SliceOptions["findPipeline"];
  /** Maximum number of concurrent slices. Default 16. */
  readonly slices?: number | undefined;
  /** Maximum number of concurrent local functions. Default 4. */
  readonly local?: number | undefined;
  /**
   * How local functions run: each as a separate unit of work (`delegated`), or within the run's slice (`inline`).
   * Default `delegated`.
   */
  readonly localWork?: "delegated" | "inline" | undefined;
  /**
   * True if webhooks report when jobs end (see `createWebhookReceiver`), so that polling is only a fallback. Default
   * false.
   */
  readonly webhooks?: boolean | undefined;
  /** See {@link SliceOptions.waitForFundsMs}. */
  readonly waitForFundsMs?: number | undefined;
  /** How often to search the journal for runs that are due but were not woken, in milliseconds. Default 5,000. */
  readonly sweepEveryMs?: number | undefined;
  /** Called with the result of each slice. */
  readonly onSlice?: ((runId: string, slice: Awaited<ReturnType<Showrunner["engine"]["slice"]>>) => void) | undefined;
  /** See {@link SliceOptions.onEvents}. */
  readonly onEvents?: SliceOptions["onEvents"];
  /** Called when a search of the journal fails. The search is repeated. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A running worker. */
export interface Worker {
  /** True while the worker takes work. False while it cannot read its journal or is stopping. */
  isReady(): boolean;
  /**
   * Returns true once the worker has searched the journal and every run in it is idle, failed, or executed by another
   * process.
   */
  isIdle(): boolean;
  /** Returns the runs whose last slice failed or that this process cannot execute. The worker retries them. */
  failed(): readonly string[];
  /**
   * Stops taking work and ends slices and local functions gracefully. Resolves once they have ended, or after
   * `drainMs`.
   */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** A wake that is overdue by this long, in milliseconds, is considered lost. */
const LOST_WAKE_MS = 2_000;
const MOST_AT_ONCE = 1_000;
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [5_000, 60_000];
/**
 * On startup, a worker also takes runs that become due within this time, because they may be waiting for local work
 * that was lost when another process died.
 */
const ORPHANED_MS = 15 * 60_000;

/**
 * Starts a worker, which executes the runs that an engine gives to this process. With `createTimersEngine`, the worker
 * also finds and executes due runs that no other worker started.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { show, engine, findPipeline, webhooks, slices = 16, local = 4, sweepEveryMs = 5_000 } = options;
  const delegate = options.localWork === "inline" ? undefined : engine.delegate.bind(engine);
  // These runs may wait for work that died with another process.
  const orphans = new Set(
    engine.isOfProcess ? await show.engine.dueRuns({ lateMs: -ORPHANED_MS, limit: MOST_AT_ONCE }) : [],
  );
  /** Ids of the runs that this process has taken and that still have work to do. */
  const open = new Set<string>();
  const failed = new Map<string, number>();
  const fail = (runId: string) => {
    const failures = (failed.get(runId) ?? 0) + 1;
    failed.set(runId, failures);
    open.delete(runId);
    return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
  };
  const wake = (runId: string) => {
    open.add(runId);
    return engine.wake(runId);
  };
  await engine.process(
    {
      async slice(runId, signal) {
        const how: SliceOptions = {
          findPipeline,
          delegate,
          webhooks,
          waitForFundsMs: options.waitForFundsMs,
          onEvents: options.onEvents,
          signal,
          worksHere: engine.isOfProcess,
          anew: orphans.delete(runId),
        };
        open.add(runId);
        const slice = await show.engine.slice(runId, how).catch((error: unknown) => {
          fail(runId);
          throw error;
        });
        options.onSlice?.(runId, slice);
        const { status, wakeAt, driven } = slice;
        if (status === "left") {
          const delayMs = fail(runId);
          // Another process of the engine may have the run's code.
          return engine.isOfProcess ? Date.now() + delayMs : wakeAt;
        }
        failed.delete(runId);
        // The worker polls late work, but late work does not keep it running.
        const isLate = driven !== null && (driven.pause === "late" || (driven.pause === null && status !== "running"));
        if (wakeAt === null || status === "busy" || isLate) open.delete(runId);
        return wakeAt;
      },
      local: (work, signal) => show.engine.work(work, { findPipeline, signal }),
    },
    { slices, local },
  );
  let isReady = true;
  let isSearched = false;
  let isStopping = false;
  let sweeping: Promise<void> = Promise.resolve();
  const sweep = async () => {
    const due = await show.engine.dueRuns({ lateMs: LOST_WAKE_MS, limit: MOST_AT_ONCE });
    const left = engine.isOfProcess ? (await show.due()).map(({ runId }) => runId) : [];
    // An engine of this process retries failed runs itself.
    for (const runId of [...due, ...left]) if (!engine.isOfProcess || !failed.has(runId)) await wake(runId);
    isSearched = true;
  };
  const look = () => {
    const done = (error?: unknown) => {
      isReady = error === undefined;
      if (error !== undefined) options.onError?.(error);
    };
    sweeping = sweeping.then(sweep).then(() => done(), done);
  };
  for (const runId of orphans) await wake(runId);
  look();
  const timer = setInterval(look, sweepEveryMs);
  return {
    isReady: () => isReady && !isStopping,
    isIdle: () => isSearched && open.size === 0,
    failed: () => [...failed.keys()],
    async stop(how) {
      isStopping = true;
      clearInterval(timer);
      await sweeping;
      await engine.close(how);
    },
  };
}
