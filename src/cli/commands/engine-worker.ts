import { resolve } from "node:path";
import type { OpenOptions, Showrunner } from "../../index.ts";
import type { Measured } from "../../telemetry/index.ts";
import { startWorker } from "../../worker/index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { type EngineFlags, openEngine, pipelinesIn } from "../engine.ts";
import { readDuration } from "../input/flag-values.ts";
import { visible, visibleError } from "../text/escape.ts";
import { countOf, type ServerFlags, serveWorker } from "../worker-servers.ts";
import { followSchedules, schedulesOf } from "./schedule.ts";

export interface EngineWorkerFlags extends EngineFlags, ServerFlags {
  readonly pipelines?: string | undefined;
  readonly slices?: string | undefined;
  readonly localWork?: "delegated" | "inline" | undefined;
  readonly drain?: string | undefined;
}

/** Requests are answered within a slice, or by a later one: none of them waits for minutes while it holds a run. */
const SHORT_RETRIES = { retry: { maxAttempts: 2, maxElapsedMs: 15_000 } } as const;

/** `showrunner worker --engine NAME`: drives the runs of the journal in slices, beside any number of other workers. */
export async function engineWorker(
  context: Context,
  flags: EngineWorkerFlags,
  { measured, options }: { readonly measured: Measured | null; readonly options: OpenOptions },
): Promise<ExitCode> {
  const { io, output } = context;
  const drainMs = readDuration("--drain", flags.drain ?? "30s", "30s or 2m");
  const slices = flags.slices === undefined ? undefined : countOf("--slices", flags.slices, 10_000);
  const folder = resolve(io.cwd, flags.pipelines ?? ".");
  const schedules = await schedulesOf(context, flags);
  const work = async (show: Showrunner) => {
    sayWhere(show, context);
    show.notifications.start();
    const engine = await openEngine(context, flags);
    // Before anything is under way: from now on a signal drains first.
    const { interrupt } = io;
    const worker = await startWorker({
      ...{ show, engine, findPipeline: pipelinesIn(folder), localWork: flags.localWork, slices },
      webhooks: flags.webhooks !== undefined,
      onSlice: (runId, { status, wakeAt, message }) => {
        if (flags.json && wakeAt === null) output.print(JSON.stringify({ id: runId, status, message }));
        else if (wakeAt === null || status === "left") {
          output.say(`${visible(runId)}  ${status}${message === null ? "" : `: ${visible(message)}`}`);
        }
      },
      onError: (error) => output.say(`${visibleError(error)} (tried again)`),
    });
    let close = async () => {};
    // What cannot be served ends the command, and with it the engine's connections.
    try {
      close = await serveWorker(context, flags, { show, engine, measured, isReady: () => worker.isReady() });
      output.say(
        `Drives runs in slices (engine ${flags.engine}, code in ${visible(folder)}). SIGTERM stops in good order.`,
      );
      const scheduled = await followSchedules(context, show, schedules, engine);
      await aborted(interrupt);
      await scheduled();
      output.say("Stops: no new slices; what is under way is seen through.");
    } finally {
      await worker.stop({ drainMs });
      await close();
    }
    return ExitCode.interrupted;
  };
  return withShowrunner(flags, work, { ...options, clientOptions: SHORT_RETRIES });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => signal.addEventListener("abort", () => done(), { once: true }));
}
