import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { dollars, formatUsd } from "../../core/kit/money.ts";
import { liveText } from "../../core/view/index.ts";
import { startWorker, type WorkerOptions } from "../../fleet/worker/index.ts";
import type { Showrunner } from "../../index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { openEngine, pipelinesIn } from "../engine.ts";
import { checkWorkerFlags } from "../input/engine-flags.ts";
import { readDuration, wholeNumber } from "../input/flag-values.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleError } from "../text/escape.ts";
import { openMeasured, serveWorker } from "../worker-servers.ts";

/** Few retries, so that no request blocks a run for minutes. */
const SHORT_RETRIES = { retry: { maxAttempts: 2, maxElapsedMs: 15_000 } } as const;
/** Interval of the search for changes that no engine reports. */
const SEARCHED_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 100;

export async function worker(context: Context, flags: Flags["worker"]): Promise<ExitCode> {
  checkWorkerFlags(flags);
  const { io, output } = context;
  const drainMs = readDuration("--drain", flags.drain ?? "30s", "30s or 2m");
  const slices = flags.slices === undefined ? undefined : wholeNumber("--slices", flags.slices, [1, 10_000], 16);
  const { waitForFunds } = flags;
  const waitForFundsMs = waitForFunds === undefined ? 0 : readDuration("--wait-for-funds", waitForFunds, "30m or 2h");
  const folder = resolve(io.cwd, flags.pipelines ?? ".");
  const opened = await openMeasured(context, flags);
  const { measured = null, options = {} } = opened ?? {};
  const work = async (show: Showrunner) => {
    sayWhere(show, context);
    show.notifications.start();
    const engine = await openEngine(context, flags);
    // Reading `interrupt` installs the signal handlers. From here on, a signal drains the worker before it ends.
    const { interrupt } = io;
    const driving = await startWorker({
      show,
      engine,
      findPipeline: pipelinesIn(folder),
      localWork: flags.localWork,
      slices,
      waitForFundsMs,
      ...(engine.isOfProcess && { sweepEveryMs: SEARCHED_EVERY_MS, onEvents: sayEvents(context) }),
      webhooks: flags.webhooks !== undefined,
      onSlice: sayEnd(context, flags),
      onError: (error) => output.say(`${visibleError(error)} (retrying)`),
    });
    let close = async () => {};
    // If a port cannot be opened, the command ends and closes the engine.
    try {
      close = await serveWorker(context, flags, { show, engine, measured, isReady: () => driving.isReady() });
      output.say(
        `Worker started (engine ${flags.engine ?? "timers"}, code in ${visible(folder)}). Press Ctrl-C to stop gracefully.`,
      );
      while (!interrupt.aborted) {
        if (flags.once && driving.isIdle()) return driving.failed().length > 0 ? ExitCode.unfinished : ExitCode.done;
        await delay(flags.once ? LOOK_EVERY_MS : SEARCHED_EVERY_MS, undefined, { signal: interrupt }).catch(() => {});
      }
      output.say("Stopping: taking no new work and finishing work in progress.");
    } finally {
      await driving.stop({ drainMs });
      await close();
    }
    return ExitCode.interrupted;
  };
  try {
    return await withShowrunner(flags, work, { ...options, clientOptions: SHORT_RETRIES });
  } finally {
    await opened?.close();
  }
}

function sayEvents({ output }: Context): WorkerOptions["onEvents"] {
  return (events) => {
    for (const event of events) {
      const line = liveText(event.event);
      if (line !== null) output.say(`${visible(event.runId)}  ${visible(line)}`);
    }
  };
}

function sayEnd({ output }: Context, { json }: Flags["worker"]): WorkerOptions["onSlice"] {
  const left = new Map<string, string | null>();
  return (id, { status, message, driven }) => {
    if (status === "left") {
      if (left.get(id) !== message)
        output.say(`${visible(id)}: ${visible(message ?? "left to other workers")} (retrying)`);
      left.set(id, message);
    } else if (driven !== null) left.delete(id);
    if (driven === null || status === "planned" || status === "running") return;
    const { spentMicros, pause } = driven;
    const cost = formatUsd(spentMicros);
    if (json) output.printJsonLine({ id, status, cost, pause: pause && { reason: pause }, message });
    else output.print(`${visible(id)}\t${status}\t${dollars(cost)}`);
    if (pause !== null) output.say(`${visible(id)}  ${pause}: ${visible(message ?? "")}`);
  };
}
