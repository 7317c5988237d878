import { type Client, sleep } from "../../api/index.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import { LongWork } from "../../kit/long-work.ts";
import { hasUncollectedWork } from "../../run/open-jobs.ts";
import { placeAgain } from "../effects/place.ts";
import { RunBusyError } from "../errors.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { DriveTools } from "./drive-tools.ts";
import { driveAsHolder, type HolderParts } from "./leased-drive.ts";
import { awaitedBy, awaitPauseEnd, changesLimits, type RerunRevision, type Start } from "./resume-run.ts";
import { type RunHandle, type RunResult, result, runHandle } from "./run-result.ts";
import { Updates } from "./updates.ts";

const LOOK_AGAIN_MS = 5_000;
const MOST_LOOKS = 60;

export interface RunSupervisorParts extends HolderParts {
  readonly client: Client;
  readonly media: MediaStore;
}

export class RunSupervisor {
  readonly #parts: RunSupervisorParts;
  readonly #running = new Map<Promise<unknown>, AbortController>();
  readonly #driven = new Map<string, { readonly handle: RunHandle; readonly turn: DriveTurn; readonly how: Start }>();

  constructor(parts: RunSupervisorParts) {
    this.#parts = parts;
  }

  handleOf(runId: string): RunHandle | undefined {
    return this.#driven.get(runId)?.handle;
  }

  /**
   * Returns a handle that executes the run. If this process is already executing the run, returns the existing handle.
   * If `how` changes the run, returns a new handle that starts after the current execution.
   */
  open(known: RunState, how: Start, tools: DriveTools | null = null): RunHandle {
    if (how.move === undefined) this.#parts.repository.checkAccount(known);
    const { runId } = known;
    const before = this.#driven.get(runId);
    const busy = before?.turn.work ?? null;
    if (
      before !== undefined &&
      busy !== null &&
      !before.turn.stop.signal.aborted &&
      !changesRun(known, how, before.how)
    ) {
      before.turn.isAskedAgain = true;
      before.turn.outdatedStops.push(...(how.outdatedStops ?? []));
      onAbort(how.signal, () => before.turn.stop.abort());
      return before.handle;
    }
    const updates = new Updates(this.#parts.store, runId, known.seq);
    const turn = new DriveTurn();
    const { stop } = turn;
    let ready = tools;
    const begin = () => {
      const started =
        busy === null
          ? this.#drive(known, updates, turn, how, ready)
          : busy.then(() => this.#drive(known, updates, turn, how, null));
      const driven = started.catch((error: unknown) => {
        if (how.followOther === undefined || !(error instanceof RunBusyError)) throw error;
        return how.followOther(updates, stop.signal);
      });
      // The handle lives longer than the execution and would keep the tools in memory.
      ready = null;
      const done = driven.finally(() => {
        turn.rest();
        this.#running.delete(done);
        if (this.#driven.get(runId)?.turn === turn) this.#driven.delete(runId);
      });
      this.#running.set(done, stop);
      return done;
    };
    const handle = runHandle(runId, updates, { begin, stop: async () => stop.abort() }, how.signal);
    this.#driven.set(runId, { handle, turn, how });
    return handle;
  }

  async stopAll(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    await Promise.allSettled(this.#running.keys());
  }

  /**
   * Executes the run. Starts over if a change is pending, if the run has been resumed in the meantime, or if it paused
   * for a reason that no longer applies.
   */
  async #drive(
    state: RunState,
    updates: Updates,
    turn: DriveTurn,
    how: Start,
    ready: DriveTools | null,
  ): Promise<RunResult> {
    const { media, clock, store } = this.#parts;
    const stop = turn.stop.signal;
    const timeouts = { funds: how.waitForFundsMs ?? 0, cap: how.waitForCapMs ?? 0 };
    const { quoted: _, revision: __, ...rest } = how;
    const again = { ...rest, outdatedStops: turn.outdatedStops };
    let next: Start = how;
    let tools = ready;
    for (let polls = 0; ; ) {
      const { revision = null } = next;
      const drift = revision?.kind === "drifted" ? revision.drift : null;
      const isMoved = next.move !== undefined && !this.#parts.repository.isOurs(state);
      const isOwed = revision === null && hasUncollectedWork(state, how);
      if (isRunFinal(state.status) && revision?.kind !== "rerun" && !isMoved && !isOwed) {
        await placeAgain(state, media);
        return result(state, media, drift);
      }
      turn.begin();
      const { pending } = await driveAsHolder(this.#parts, { state, updates, stop, how: next, tools });
      tools = null;
      if (pending === null && turn.isAskedAgain && !stop.aborted) {
        turn.isAskedAgain = false;
        next = { ...again, lastStop: Math.max(how.lastStop ?? 0, ...turn.outdatedStops) };
        const isOutdated = turn.outdatedStops.includes(state.pause?.stopId ?? 0);
        if (isOutdated || (await store.inbox(state.runId)).length > 0) continue;
      }
      turn.rest();
      if (pending !== null) {
        const continues = polls++ < MOST_LOOKS && (await this.#awaitQuiet(state, pending, stop));
        if (!continues) return result(state, media);
        next = { ...again, revision: pending };
        continue;
      }
      const since = clock.now();
      const awaited = awaitedBy(state);
      const continues = awaited !== null && (await awaitPauseEnd(this.#parts, state, stop, timeouts[awaited]));
      await new LongWork().pause(state.planned.plan.steps.length);
      if (!continues) return result(state, media, drift);
      timeouts[awaited!] -= clock.now() - since;
      next = again;
    }
  }

  /** Waits a short time if steps of the revision are still busy. Returns true if the revision should be tried again. */
  async #awaitQuiet(state: RunState, pending: RerunRevision, signal: AbortSignal): Promise<boolean> {
    const busy = pending.busy(state);
    // These jobs may have been the run's last work. The run then finishes, and is reopened for the changes.
    const isIdle = state.pause?.reason === "drift" || isRunFinal(state.status);
    if (signal.aborted || !isIdle) return false;
    if (busy.some((path) => state.steps[path]?.status === "unresolved")) return false;
    if (busy.length > 0) await sleep(this.#parts.clock, LOOK_AGAIN_MS, signal).catch(() => {});
    return !signal.aborted;
  }
}

function changesRun(state: RunState, how: Start, before: Start): boolean {
  return (how.revision ?? null) !== null || how.move !== undefined || changesLimits(state, how, before);
}

function onAbort(signal: AbortSignal | undefined, then: () => void): void {
  signal?.addEventListener("abort", then, { once: true });
  if (signal?.aborted === true) then();
}

class DriveTurn {
  readonly stop = new AbortController();
  isAskedAgain = false;
  readonly outdatedStops: number[] = [];
  #work: PromiseWithResolvers<void> | null = Promise.withResolvers();

  get work(): Promise<void> | null {
    return this.#work?.promise ?? null;
  }

  begin(): void {
    this.#work ??= Promise.withResolvers();
  }

  rest(): void {
    this.#work?.resolve();
    this.#work = null;
  }
}
