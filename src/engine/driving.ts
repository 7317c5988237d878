import { randomUUID } from "node:crypto";
import { type Client, type Clock, sleep } from "../api/index.ts";
import type { RunEvent, StoredEvent } from "../journal/events.ts";
import { EVENT_VERSION } from "../journal/events.ts";
import { apply } from "../journal/fold.ts";
import { isHolderDead, retireHolder, thisHolder } from "../journal/host.ts";
import { isRunFinal, planStep, type RunState } from "../journal/state.ts";
import type { JournalStore, Lease, LeaseHolder } from "../journal/store.ts";
import { formatUsd } from "../money.ts";
import { criticalPath, type Draft } from "../plan/index.ts";
import type { Plan } from "../plan/plan.ts";
import { runReport } from "../run/report.ts";
import { type DriveDependencies, drive, type Schedule } from "./drive.ts";
import { RunBusyError } from "./errors.ts";
import type { MediaStore } from "./media-store.ts";
import { usdOption } from "./options.ts";
import { expectedMs, type PastDurations, pastDurations } from "./past-durations.ts";
import type { Quote } from "./quote.ts";
import { runOutputs } from "./results.ts";
import type { RunShelf } from "./run-shelf.ts";
import type { ResumeOptions, RunHandle, RunResult } from "./showrunner.ts";
import { Updates } from "./updates.ts";

/** How often a run that waits for funds looks at the wallet, milliseconds. */
const FUNDS_EVERY_MS = 10_000;
/** Runs that expected durations are learnt from. */
export const REMEMBERED_RUNS = 10;

export interface Start extends ResumeOptions {
  /** Prices of a run that begins. */
  readonly quote?: Quote | undefined;
  /** What a run that begins was just planned from: its functions are taken from here. */
  readonly draft?: Draft | undefined;
}

export interface DrivingParts {
  readonly client: Client;
  readonly store: JournalStore;
  readonly shelf: RunShelf;
  readonly media: MediaStore;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** What every drive of a run starts with. */
  dependencies(state: RunState, how: Start): DriveDependencies;
}

/** The runs that this process drives. */
export class Driving {
  readonly #parts: DrivingParts;
  readonly #running = new Map<Promise<unknown>, AbortController>();

  constructor(parts: DrivingParts) {
    this.#parts = parts;
  }

  /** Takes the lease, folds what is there, and drives the run in the background. */
  async open(runId: string, how: Start): Promise<RunHandle> {
    const known = await this.#parts.shelf.load(runId);
    this.#parts.shelf.checkAccount(known);
    const updates = new Updates();
    const stop = new AbortController();
    how.signal?.addEventListener("abort", () => stop.abort(), { once: true });
    if (how.signal?.aborted === true) stop.abort();
    const done = this.#drive(known, updates, stop, how).finally(() => {
      updates.end();
      this.#running.delete(done);
    });
    this.#running.set(done, stop);
    done.catch(() => {});
    return {
      id: runId,
      events: () => updates.read(),
      result: () => done,
      stop: async () => {
        stop.abort();
        await done.catch(() => {});
      },
    };
  }

  /** Stops all of them gracefully. */
  async stopAll(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    await Promise.allSettled(this.#running.keys());
  }

  async #drive(known: RunState, updates: Updates, stop: AbortController, how: Start): Promise<RunResult> {
    const { store, media, clock } = this.#parts;
    const { runId } = known;
    if (isRunFinal(known.status)) {
      updates.push(await store.read(runId));
      return result(known, media);
    }
    const at = clock.now();
    const holder = thisHolder(randomUUID());
    const state = await this.#asHolder(holder, runId, updates, stop, how).catch((error: unknown) => {
      // Its lease may be in the journal all the same: a disk that fails leaves open what arrived.
      retireHolder(holder);
      throw error;
    });
    const funded = await this.#awaitFunds(state, stop.signal, how.waitForFundsMs ?? 0);
    if (!funded) return result(state, media);
    const { waitForFundsMs = 0 } = how;
    const { quote: _, ...again } = how;
    return this.#drive(state, updates, stop, { ...again, waitForFundsMs: waitForFundsMs - (clock.now() - at) });
  }

  /** Takes the lease and drives the run until it is through or pauses. */
  async #asHolder(
    holder: LeaseHolder,
    runId: string,
    updates: Updates,
    stop: AbortController,
    how: Start,
  ): Promise<RunState> {
    const { store, shelf, clock, leaseMs: ttlMs } = this.#parts;
    const outcome = await store.takeLease(runId, holder, { at: clock.now(), ttlMs, isDead: isHolderDead });
    if (!outcome.taken) throw new RunBusyError(runId, outcome.heldBy, outcome.expiresAt);
    const { lease } = outcome;
    updates.push(await store.read(lease.runId));
    const state = await shelf.load(lease.runId);
    await this.#begin(state, lease, updates, how);
    const past = pastDurations(await shelf.all(REMEMBERED_RUNS));
    await drive(this.#parts.dependencies(state, how), state, lease, {
      schedule: (plan) => scheduleOf(plan, past),
      stop: stop.signal,
      onEvents: (events) => updates.push(events),
      onProgress: (progress) => updates.progress(progress),
    });
    return state;
  }

  /** True once the wallet holds what the paused run asked for; false when it is not paused for funds, or time is up. */
  async #awaitFunds(state: RunState, signal: AbortSignal, forMs: number): Promise<boolean> {
    if (state.status !== "paused" || state.pause?.reason !== "funds") return false;
    const { client, clock } = this.#parts;
    const wanted = state.pause.requiredMicros ?? (state.pause.balanceMicros ?? 0) + 1;
    for (const until = clock.now() + forMs; clock.now() < until; ) {
      await sleep(clock, Math.min(FUNDS_EVERY_MS, until - clock.now()), signal).catch(() => {});
      if (signal.aborted) return false;
      const { balanceMicros } = await client.balance({ signal });
      if (balanceMicros >= wanted) return true;
    }
    return false;
  }

  /** First prices into the journal, or a paused run set going again. */
  async #begin(state: RunState, lease: Lease, updates: Updates, how: Start): Promise<void> {
    const events: readonly RunEvent[] = [
      ...quoteEvents(state, how.quote),
      ...budgetEvents(state, how),
      ...(state.status === "paused" ? [{ type: "run.resumed" } as const] : []),
    ];
    if (events.length === 0) return;
    const at = this.#parts.clock.now();
    const { runId, seq: afterSeq } = state;
    const stored = events.map(
      (event, index): StoredEvent => ({ runId, seq: afterSeq + index + 1, at, version: EVENT_VERSION, event }),
    );
    for (const one of stored) apply(state, one);
    const outcome = await this.#parts.store.commit({ lease, afterSeq, at, events, status: state.status });
    if (!outcome.committed) throw new RunBusyError(runId, thisHolder(""), at);
    updates.push(stored);
  }
}

/** The critical path first. */
function scheduleOf(plan: Plan, past: PastDurations): Schedule {
  const { rank } = criticalPath(plan, (step) => expectedMs(step, past));
  const longest = Math.max(1, ...rank.values());
  return {
    order: [...plan.steps].sort((a, b) => rank.get(b.path)! - rank.get(a.path)!),
    priority: (step) => Math.round((50 * (rank.get(step) ?? 0)) / longest),
  };
}

function quoteEvents(state: RunState, quote: Quote | undefined): readonly RunEvent[] {
  return (quote?.prices ?? []).flatMap(({ step, costMicros, basis }): readonly RunEvent[] => {
    if (basis === "free" || basis === "reused" || planStep(state, step).kind !== "job") return [];
    return [{ type: "job.quoted", step, attempt: 1, costMicros, basis }];
  });
}

function budgetEvents(state: RunState, { budget, maxUnquoted }: ResumeOptions): readonly RunEvent[] {
  if (budget === undefined && maxUnquoted === undefined) return [];
  const budgetMicros = usdOption("budget", budget) ?? state.budgetMicros;
  const maxUnquotedMicros = usdOption("maxUnquoted", maxUnquoted) ?? state.maxUnquotedMicros;
  return [{ type: "run.budget.set", budgetMicros, maxUnquotedMicros }];
}

function result(state: RunState, media: MediaStore): RunResult {
  const paused = state.status === "paused" || !isRunFinal(state.status);
  const atService = Object.values(state.steps).flatMap((step) => {
    const attempt = step.attempts.at(-1);
    const open = ["submitting.sent", "submitting.unknown", "inQueue", "inProgress"].includes(attempt?.phase ?? "");
    return open ? [{ step: step.path, jobId: attempt!.jobId }] : [];
  });
  return {
    id: state.runId,
    status: paused ? "paused" : (state.status as "succeeded"),
    outputs: runOutputs(state, media),
    cost: { micros: state.spentMicros, usd: formatUsd(state.spentMicros) },
    pause: state.pause,
    report: runReport(state),
    drift: null,
    stillRunning: atService,
  };
}
