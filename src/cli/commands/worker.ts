import { setTimeout as delay } from "node:timers/promises";
import type { RunResult, Showrunner } from "../../index.ts";
import { type Context, type ServiceFlags, sayWhere, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { readDuration } from "../input/duration.ts";
import { codeOf } from "../input/journaled.ts";
import { eventLine } from "../live/lines.ts";
import { visible } from "../text/escape.ts";

export interface WorkerFlags extends ServiceFlags {
  readonly once?: boolean;
  readonly waitForFunds?: string;
  readonly json?: boolean;
}

/** Milliseconds between two looks into the journal. */
const LOOK_EVERY_MS = 1000;
/** A run that another process drives is asked for again after so long, milliseconds: that process may be gone by then. */
const BUSY_MS = 5000;

/** `showrunner worker`: drives the runs of a journal that nobody drives and that could go on. */
export async function worker(context: Context, flags: WorkerFlags): Promise<ExitCode> {
  const { io, talk } = context;
  const { waitForFunds } = flags;
  const waitForFundsMs = waitForFunds === undefined ? 0 : readDuration("--wait-for-funds", waitForFunds, "30m or 2h");
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    show.notifications.start();
    talk.say("Drives every run of this journal that could go on and that nobody drives. Ctrl-C stops in good order.");
    const crew = new Crew(show, context, { waitForFundsMs, json: flags.json === true });
    while (!io.interrupt.aborted) {
      await crew.takeUp();
      if (flags.once && crew.isIdle) return ExitCode.done;
      await delay(LOOK_EVERY_MS, undefined, { signal: io.interrupt }).catch(() => {});
    }
    await crew.stop();
    return ExitCode.interrupted;
  });
}

interface CrewOptions {
  readonly waitForFundsMs: number;
  readonly json: boolean;
}

/** The runs that this worker drives. */
class Crew {
  readonly #show: Showrunner;
  readonly #context: Context;
  readonly #options: CrewOptions;
  readonly #driven = new Map<string, { readonly over: Promise<void>; readonly stop: () => Promise<void> }>();
  /** Runs that cannot be taken up until they move, or until an instant. */
  readonly #left = new Map<string, { readonly lastSeq: number; readonly until: number }>();

  constructor(show: Showrunner, context: Context, options: CrewOptions) {
    this.#show = show;
    this.#context = context;
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#driven.size === 0;
  }

  async takeUp(): Promise<void> {
    for (const { runId, lastSeq } of await this.#show.due()) {
      if (this.#driven.has(runId)) continue;
      const left = this.#left.get(runId);
      if (left !== undefined && left.lastSeq === lastSeq && Date.now() < left.until) continue;
      await this.#drive(runId, lastSeq);
    }
  }

  async stop(): Promise<void> {
    const all = [...this.#driven.values()];
    await Promise.all(all.map(({ stop }) => stop()));
    await Promise.all(all.map(({ over }) => over));
  }

  async #drive(runId: string, lastSeq: number): Promise<void> {
    const { talk, io } = this.#context;
    try {
      const pipeline = await codeOf(this.#show, runId, io.cwd);
      const { waitForFundsMs } = this.#options;
      const code = pipeline === null ? {} : { pipeline, compare: false };
      const handle = await this.#show.resume(runId, { ...code, waitForFundsMs, unattended: true });
      const over = this.#watch(handle, lastSeq).finally(() => this.#driven.delete(runId));
      this.#driven.set(runId, { over, stop: () => handle.stop() });
    } catch (error) {
      talk.say(`${visible(runId)}: ${visible(messageOf(error))}`);
      this.#left.set(runId, { lastSeq, until: Number.POSITIVE_INFINITY });
    }
  }

  async #watch(handle: Awaited<ReturnType<Showrunner["resume"]>>, lastSeq: number): Promise<void> {
    const { talk } = this.#context;
    const id = visible(handle.id);
    try {
      for await (const update of handle.events()) {
        if (!("event" in update) || update.seq <= lastSeq) continue;
        const line = eventLine(update.event);
        if (line !== null) talk.say(`${id}  ${line}`);
      }
      this.#report(await handle.result());
    } catch (error) {
      const isBusy = error instanceof Error && "code" in error && error.code === "RUN_BUSY";
      if (!isBusy) talk.say(`${id}: ${visible(messageOf(error))}`);
      this.#left.set(handle.id, { lastSeq, until: isBusy ? Date.now() + BUSY_MS : Number.POSITIVE_INFINITY });
    }
  }

  #report({ id, status, cost, pause, report }: RunResult): void {
    const { talk } = this.#context;
    const message = pause?.message ?? report.message;
    if (this.#options.json) {
      const line = { id, status, cost: cost.usd, pause: pause?.reason ?? null, message };
      talk.print(JSON.stringify(line));
    } else talk.print(`${visible(id)}\t${status}\t$${cost.usd}`);
    if (pause !== null) talk.say(`${visible(id)}  ${pause.reason}: ${visible(pause.message)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
