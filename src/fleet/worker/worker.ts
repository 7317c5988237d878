import type { Showrunner, SliceOptions } from "../../internal.ts";
import type { Engine } from "./engine.ts";

export interface WorkerOptions {
  readonly show: Showrunner;
  readonly engine: Engine;
  /** The code of runs with local functions. Default: such runs are left to workers that have it. */
  readonly findPipeline?: SliceOptions["findPipeline"];
  /** Runs that get a slice at once. Default 16. */
  readonly slices?: number | undefined;
  /** Local functions at once. Default 4. */
  readonly local?: number | undefined;
  /** `delegated`: each local function is a job of its own. `inline`: within the slice. Default `delegated`. */
  readonly localWork?: "delegated" | "inline" | undefined;
  /** Webhooks tell of the end of jobs (see `createWebhookReceiver`), so that polls only stand behind them. Default false. */
  readonly webhooks?: boolean | undefined;
  /** See {@link SliceOptions.waitForFundsMs}. */
  readonly waitForFundsMs?: number | undefined;
  /** How often the journal is searched for runs whose wake was lost, milliseconds. Default 5 000. */
  readonly sweepEveryMs?: number | undefined;
  /** Called with how each slice ended. */
  readonly onSlice?: ((runId: string, slice: Awaited<ReturnType<Showrunner["engine"]["slice"]>>) => void) | undefined;
  /** See {@link SliceOptions.onEvents}. */
  readonly onEvents?: SliceOptions["onEvents"];
  /** Called when the journal could not be searched; it is tried again. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Worker {
  /** Whether it takes work: not while its journal cannot be read, and not once it stops. */
  isReady(): boolean;
  /** Whether it has searched the journal, and every run that it took up has come to rest, failed, or is another process's. */
  isIdle(): boolean;
  /** Runs whose last slice failed, or that this process cannot drive. They are tried again. */
  failed(): readonly string[];
  /** Takes nothing more, ends slices and local functions gracefully, and settles then, or after `drainMs`. */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** A wake that is so late was lost: its sender died, or knew no engine. */
const LOST_WAKE_MS = 2_000;
const MOST_AT_ONCE = 1_000;
/** Shortest and longest delay before a process of its own tries a run again that it cannot drive, milliseconds. */
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [5_000, 60_000];
/** So long ahead lies the wake of a run that only waits for local work. */
const ORPHANED_MS = 15 * 60_000;

/**
 * Drives the runs that an engine hands to this process; with the engine of one process, also those that no engine has: left by a
 * process that drove them by itself.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { show, engine, findPipeline, webhooks, slices = 16, local = 4, sweepEveryMs = 5_000 } = options;
  const delegate = options.localWork === "inline" ? undefined : engine.delegate.bind(engine);
  // Runs that wait for work which a process of such an engine may have taken with it.
  const orphans = new Set(
    engine.isOfProcess ? await show.engine.dueRuns({ lateMs: -ORPHANED_MS, limit: MOST_AT_ONCE }) : [],
  );
  /** Runs that were taken up and do not rest. */
  const open = new Set<string>();
  /** How often one after the other. */
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
          // Other processes of an engine may have its code.
          return engine.isOfProcess ? Date.now() + delayMs : wakeAt;
        }
        failed.delete(runId);
        // Late work is asked for as long as the worker is here, and keeps none here.
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
    // What failed is with the engine, which calls it again.
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
