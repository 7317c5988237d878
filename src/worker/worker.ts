import type { Showrunner, SliceOptions } from "../index.ts";
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
  /** How often the journal is searched for runs whose wake was lost, milliseconds. Default 5 000. */
  readonly sweepEveryMs?: number | undefined;
  /** Told how each slice ended. */
  readonly onSlice?: ((runId: string, slice: Awaited<ReturnType<Showrunner["slice"]>>) => void) | undefined;
  /** Told why the journal could not be searched; it is tried again. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Worker {
  /** Whether it takes work: not while its journal cannot be read, and not once it stops. */
  isReady(): boolean;
  /** Takes nothing more, ends slices and local functions in good order, and settles then, or after `drainMs`. */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** A wake that is so late was lost: its sender died, or knew no engine. */
const LATE_MS = 2_000;
const MOST_AT_ONCE = 1_000;

/** Drives the runs that an engine hands to this process. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { show, engine, findPipeline, webhooks, slices = 16, local = 4, sweepEveryMs = 5_000 } = options;
  const delegate = options.localWork === "inline" ? undefined : engine.delegate.bind(engine);
  await engine.process(
    {
      async slice(runId, signal) {
        const slice = await show.slice(runId, { findPipeline, delegate, webhooks, signal });
        options.onSlice?.(runId, slice);
        return slice.wakeAt;
      },
      local: (work, signal) => show.work(work, { findPipeline, signal }),
    },
    { slices, local },
  );
  let isReady = true;
  let isStopping = false;
  let sweeping: Promise<void> = Promise.resolve();
  const sweep = async () => {
    const due = await show.dueRuns({ lateMs: LATE_MS, limit: MOST_AT_ONCE });
    for (const runId of due) await engine.wake(runId);
  };
  const look = () => {
    const done = (error?: unknown) => {
      isReady = error === undefined;
      if (error !== undefined) options.onError?.(error);
    };
    sweeping = sweeping.then(sweep).then(() => done(), done);
  };
  look();
  const timer = setInterval(look, sweepEveryMs);
  return {
    isReady: () => isReady && !isStopping,
    async stop(how) {
      isStopping = true;
      clearInterval(timer);
      await sweeping;
      await engine.close(how);
    },
  };
}
