import { verdictOf, verdicts } from "../../answers/index.ts";
import { answerOf, type Client, sleep } from "../../api/index.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import { LongWork } from "../../long-work.ts";
import { hasUncollectedWork } from "../../run/open-jobs.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { RerunRevision, Start } from "./begin-run.ts";
import type { DriveTools } from "./drive-tools.ts";
import { driveAsHolder, type HolderParts } from "./hold-run.ts";
import { runHandle } from "./run-handle.ts";
import { type RunHandle, type RunResult, result } from "./run-result.ts";
import { Updates } from "./updates.ts";

/** How often a run that waits for funds looks at the wallet, milliseconds. */
const FUNDS_EVERY_MS = 10_000;
/** Interval between polls of a job that must finish before a change is applied, milliseconds. */
const LOOK_AGAIN_MS = 5_000;
const MOST_LOOKS = 60;

export interface RunSupervisorParts extends HolderParts {
  readonly client: Client;
  readonly media: MediaStore;
}

/** The runs that this process drives. */
export class RunSupervisor {
  readonly #parts: RunSupervisorParts;
  readonly #running = new Map<Promise<unknown>, AbortController>();

  constructor(parts: RunSupervisorParts) {
    this.#parts = parts;
  }

  /**
   * Takes the lease, brings the state up to date, and drives the run in the background. The state is its own from now on,
   * and so are `tools` for it.
   */
  open(known: RunState, how: Start, tools: DriveTools | null = null): RunHandle {
    if (how.move === undefined) this.#parts.repository.checkAccount(known);
    const { runId } = known;
    const updates = new Updates(this.#parts.store, runId, known.seq);
    const stop = new AbortController();
    let ready = tools;
    const begin = () => {
      const driven = this.#drive(known, updates, stop, how, ready);
      // The handle outlives the drive.
      ready = null;
      const done = driven.finally(() => this.#running.delete(done));
      this.#running.set(done, stop);
      return done;
    };
    return runHandle(runId, updates, { begin, stop: async () => stop.abort() }, how.signal);
  }

  /** Stops all of them gracefully. */
  async stopAll(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    await Promise.allSettled(this.#running.keys());
  }

  async #drive(
    state: RunState,
    updates: Updates,
    stop: AbortController,
    how: Start,
    tools: DriveTools | null = null,
  ): Promise<RunResult> {
    const { media, clock } = this.#parts;
    const { revision = null } = how;
    const drift = revision?.kind === "drifted" ? revision.drift : null;
    const isMoved = how.move !== undefined && !this.#parts.repository.isOurs(state);
    const isOwed = revision === null && hasUncollectedWork(state);
    if (isRunFinal(state.status) && revision?.kind !== "rerun" && !isMoved && !isOwed) {
      return result(state, media, drift);
    }
    const at = clock.now();
    const { pending } = await driveAsHolder(this.#parts, { state, updates, stop: stop.signal, how, tools });
    const { waitForFundsMs = 0, waitForCapMs = 0 } = how;
    const { quoted: _, revision: __, ...again } = how;
    if (pending !== null) {
      const { polls = 0 } = how;
      const goesOn = polls < MOST_LOOKS && (await this.#awaitQuiet(state, pending, stop.signal));
      if (!goesOn) return result(state, media);
      return this.#drive(state, updates, stop, { ...again, revision: pending, polls: polls + 1 });
    }
    const goesOn =
      (await this.#awaitFunds(state, stop.signal, waitForFundsMs)) ||
      (await this.#awaitCap(state, stop.signal, waitForCapMs));
    await new LongWork().pause(state.planned.plan.steps.length);
    if (!goesOn) return result(state, media, drift);
    const passedMs = clock.now() - at;
    const left = { waitForFundsMs: waitForFundsMs - passedMs, waitForCapMs: waitForCapMs - passedMs };
    return this.#drive(state, updates, stop, { ...again, ...left });
  }

  /** Whether the jobs that the revision waits for have finished; if not, answers after a delay. */
  async #awaitQuiet(state: RunState, pending: RerunRevision, signal: AbortSignal): Promise<boolean> {
    const busy = pending.busy(state);
    // These jobs may have been the last work: the run is finished then, and is reopened for the changes.
    const rests = state.pause?.reason === "drift" || isRunFinal(state.status);
    if (signal.aborted || !rests) return false;
    if (busy.some((path) => state.steps[path]?.status === "unresolved")) return false;
    if (busy.length > 0) await sleep(this.#parts.clock, LOOK_AGAIN_MS, signal).catch(() => {});
    return !signal.aborted;
  }

  /** True once the wallet holds what the paused run requires; false when it is not paused for funds, or time is up. */
  async #awaitFunds(state: RunState, signal: AbortSignal, forMs: number): Promise<boolean> {
    if (state.status !== "paused" || state.pause?.reason !== "funds") return false;
    const { clock, store } = this.#parts;
    const requested = state.pause.requiredMicros ?? (state.pause.balanceMicros ?? 0) + 1;
    for (const until = clock.now() + forMs; clock.now() < until; ) {
      await sleep(clock, Math.min(FUNDS_EVERY_MS, until - clock.now()), signal).catch(() => {});
      if (signal.aborted) return false;
      // Somebody wants something of the run, a stop perhaps: it is driven on, which takes that in.
      if ((await store.inbox(state.runId)).length > 0) return true;
      if ((await this.#balance(signal)) >= requested) return true;
    }
    return false;
  }

  /** True once the period of the cap that the run is paused for has ended; false when it is not paused for one, or time is up. */
  async #awaitCap(state: RunState, signal: AbortSignal, forMs: number): Promise<boolean> {
    const resumeAt = state.status === "paused" ? (state.pause?.resumeAt ?? null) : null;
    if (resumeAt === null) return false;
    const { clock, store } = this.#parts;
    for (const until = clock.now() + forMs; clock.now() < resumeAt; ) {
      const leftMs = Math.min(until, resumeAt) - clock.now();
      if (leftMs <= 0) return false;
      await sleep(clock, Math.min(FUNDS_EVERY_MS, leftMs), signal).catch(() => {});
      if (signal.aborted) return false;
      if ((await store.inbox(state.runId)).length > 0) return true;
    }
    return forMs > 0;
  }

  /** Below anything while the service cannot be reached. */
  async #balance(signal: AbortSignal): Promise<number> {
    try {
      return (await this.#parts.client.balance({ signal })).balanceMicros;
    } catch (error) {
      const answer = answerOf(error);
      const isAskedAgain = answer !== null && verdicts[verdictOf("balance", answer)].retried;
      if (!isAskedAgain && !signal.aborted) throw error;
      return Number.NEGATIVE_INFINITY;
    }
  }
}
