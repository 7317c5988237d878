import { setTimeout as delay } from "node:timers/promises";
import { liveText, type OpenOptions, type RunResult, type Showrunner } from "../../index.ts";
import type { Measured } from "../../telemetry/index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, journalFolderOf, sayWhere, withShowrunner } from "../context.ts";
import { checkWorkerFlags } from "../input/engine-flags.ts";
import { readDuration } from "../input/flag-values.ts";
import { errorContextOf, RunRetries } from "../input/run-retries.ts";
import { codeOf, sourceOf } from "../input/stored-run.ts";
import { giveMemoryBackAtRest } from "../memory-at-rest.ts";
import { visible, visibleError } from "../text/escape.ts";
import { openMeasured, serveWorker } from "../worker-servers.ts";
import type { EngineWorkerFlags } from "./engine-worker.ts";
import { followSchedules, schedulesOf } from "./schedule.ts";

export interface WorkerFlags extends EngineWorkerFlags {
  readonly once?: boolean;
  readonly waitForFunds?: string;
}

/** Waits for an unavailable service without a time limit. */
const ATTENDED_BY_NOBODY = { unattended: true, giveUpAfterMs: Number.POSITIVE_INFINITY } as const;
/** Milliseconds between two polls of the journal. */
const POLL_EVERY_MS = 1000;
/** Transient: the worker polls again. */
const TRANSIENT = new Set(["JOURNAL_DISK_FULL", "JOURNAL_IO", "JOURNAL_BUSY", "JOURNAL_UNREACHABLE"]);

/** `showrunner worker`: drives the runs of a journal that no process drives and that could continue. */
export async function worker(context: Context, flags: WorkerFlags): Promise<ExitCode> {
  checkWorkerFlags(flags);
  const opened = await openMeasured(context, flags);
  const { measured = null, options = {} } = opened ?? {};
  const end = giveMemoryBackAtRest();
  try {
    if (flags.engine === undefined) return await hotWorker(context, flags, { measured, options });
    return await (await import("./engine-worker.ts")).engineWorker(context, flags, { measured, options });
  } finally {
    end();
    await opened?.close();
  }
}

/** Drives each run in this process until it rests. */
async function hotWorker(
  context: Context,
  flags: WorkerFlags,
  { measured, options }: { readonly measured: Measured | null; readonly options: OpenOptions },
): Promise<ExitCode> {
  const { io, output } = context;
  const schedules = await schedulesOf(context, flags);
  const { waitForFunds } = flags;
  const waitForFundsMs = waitForFunds === undefined ? 0 : readDuration("--wait-for-funds", waitForFunds, "30m or 2h");
  const work = async (show: Showrunner) => {
    sayWhere(show, context);
    show.notifications.start();
    // Before anything is under way: from now on a signal stops in good order.
    const { interrupt } = io;
    output.say("Drives every run of this journal that could go on and that nobody drives. Ctrl-C stops in good order.");
    const pool = new WorkerPool(show, context, {
      ...{ waitForFundsMs, json: flags.json === true },
      folder: journalFolderOf(io, flags),
    });
    let isReady = true;
    const close = await serveWorker(context, flags, {
      ...{ show, measured },
      isReady: () => isReady && !interrupt.aborted,
    });
    try {
      const scheduled = await followSchedules(context, show, schedules);
      while (!interrupt.aborted) {
        isReady = await pool.takeUp().then(() => true, failing(context));
        if (flags.once && pool.isIdle) return pool.hasFailed ? ExitCode.unfinished : ExitCode.done;
        await delay(POLL_EVERY_MS, undefined, { signal: interrupt }).catch(() => {});
      }
      await scheduled();
      await pool.stop();
    } finally {
      await close();
    }
    return ExitCode.interrupted;
  };
  return withShowrunner(flags, work, options);
}

/** Reports transient errors of the journal, and answers that it cannot be read; rethrows any other. */
function failing({ output }: Context): (error: unknown) => false {
  return (error) => {
    const code = (error as { readonly code?: unknown } | null)?.code;
    if (typeof code !== "string" || !TRANSIENT.has(code)) throw error;
    output.say(`${visibleError(error)} (retrying)`);
    return false;
  };
}

interface WorkerPoolOptions {
  /** Of what belongs to the journal. */
  readonly folder: string;
  readonly waitForFundsMs: number;
  readonly json: boolean;
}

/** The runs that this worker drives. */
class WorkerPool {
  readonly #show: Showrunner;
  readonly #context: Context;
  readonly #options: WorkerPoolOptions;
  readonly #driven = new Map<string, { readonly over: Promise<void>; readonly stop: () => Promise<void> }>();
  readonly #retries: RunRetries;
  /** Runs that could not be driven the last time. */
  readonly #failed = new Set<string>();

  constructor(show: Showrunner, context: Context, options: WorkerPoolOptions) {
    this.#show = show;
    this.#context = context;
    this.#options = options;
    const { folder } = options;
    this.#retries = new RunRetries({
      now: Date.now,
      circumstances: (file) => errorContextOf(file, [folder, context.io.cwd]),
    });
  }

  get isIdle(): boolean {
    return this.#driven.size === 0;
  }

  get hasFailed(): boolean {
    return this.#failed.size > 0;
  }

  async takeUp(): Promise<void> {
    for (const { runId, lastSeq } of await this.#show.due()) {
      if (this.#driven.has(runId)) continue;
      if (this.#retries.isDue(runId, lastSeq)) await this.#drive(runId, lastSeq);
    }
  }

  async stop(): Promise<void> {
    const all = [...this.#driven.values()];
    await Promise.all(all.map(({ stop }) => stop()));
    await Promise.all(all.map(({ over }) => over));
  }

  async #drive(runId: string, lastSeq: number): Promise<void> {
    const { io } = this.#context;
    try {
      const pipeline = await codeOf(this.#show, runId, io.cwd);
      const { waitForFundsMs } = this.#options;
      const code = pipeline === null ? {} : { pipeline, compare: false };
      const handle = await this.#show.resume(runId, { ...code, ...ATTENDED_BY_NOBODY, waitForFundsMs });
      const over = this.#watch(handle, lastSeq).finally(() => this.#driven.delete(runId));
      this.#driven.set(runId, { over, stop: () => handle.stop() });
    } catch (error) {
      await this.#noteFailure(runId, lastSeq, error);
    }
  }

  async #noteFailure(runId: string, lastSeq: number, error: unknown): Promise<void> {
    if ((error as { readonly code?: unknown } | null)?.code === "RUN_BUSY") return this.#retries.busy(runId, lastSeq);
    this.#failed.add(runId);
    const source = await sourceOf(this.#show, runId).catch(() => null);
    const waitMs = this.#retries.failed(runId, { lastSeq, file: source?.file ?? null });
    const again = `tried again within ${waitMs / 1000} s, or once the disk or its pipeline file changes`;
    this.#context.output.say(`${visible(runId)}: ${visibleError(error)} (${again})`);
  }

  async #watch(handle: Awaited<ReturnType<Showrunner["resume"]>>, from: number): Promise<void> {
    const { output } = this.#context;
    const id = visible(handle.id);
    let lastSeq = from;
    try {
      for await (const update of handle.events()) {
        if (!("event" in update) || update.seq <= lastSeq) continue;
        lastSeq = update.seq;
        const line = liveText(update.event);
        if (line !== null) output.say(`${id}  ${visible(line)}`);
      }
      this.#report(await handle.result());
      this.#retries.driven(handle.id);
      this.#failed.delete(handle.id);
    } catch (error) {
      await this.#noteFailure(handle.id, lastSeq, error);
    }
  }

  #report({ id, status, cost, pause, report }: RunResult): void {
    const { output } = this.#context;
    const message = pause?.message ?? report.message;
    if (this.#options.json) {
      const line = { id, status, cost: cost.usd, pause: pause?.reason ?? null, message };
      output.print(JSON.stringify(line));
    } else output.print(`${visible(id)}\t${status}\t$${cost.usd}`);
    if (pause !== null) output.say(`${visible(id)}  ${pause.reason}: ${visible(pause.message)}`);
  }
}
