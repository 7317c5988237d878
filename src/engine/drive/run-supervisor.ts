import { randomUUID } from "node:crypto";
import { verdictOf, verdicts } from "../../answers/index.ts";
import { answerOf, type Client, type Clock, sleep } from "../../api/index.ts";
import { EVENT_VERSION, type RunEvent, type StoredEvent } from "../../journal/events.ts";
import { apply } from "../../journal/fold.ts";
import { isHolderDead, retireHolder, thisHolder } from "../../journal/host.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { JournalStore, Lease, LeaseHolder } from "../../journal/store.ts";
import { hasUncollectedWork } from "../../run/open-jobs.ts";
import { RunBusyError } from "../errors.ts";
import type { MediaStore } from "../media/media-store.ts";
import { noticesOf } from "../notify/notifier.ts";
import type { ExpectedDurations } from "../price/expected-durations.ts";
import { learnedPrices } from "../price/learned-prices.ts";
import { beginRun, type RerunRevision, type Start } from "./begin-run.ts";
import { drive } from "./drive.ts";
import type { DriveDependencies } from "./drive-options.ts";
import { runHandle } from "./run-handle.ts";
import { type RunHandle, type RunResult, result } from "./run-result.ts";
import { RunScheduler } from "./run-scheduler.ts";
import { Updates } from "./updates.ts";

/** How often a run that waits for funds looks at the wallet, milliseconds. */
const FUNDS_EVERY_MS = 10_000;
/** Interval between polls of a job that must finish before a change is applied, milliseconds. */
const LOOK_AGAIN_MS = 5_000;
const MOST_LOOKS = 60;

export interface RunSupervisorParts {
  readonly client: Client;
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly media: MediaStore;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly durations: ExpectedDurations;
  readonly notifier: { poke(): void } | null;
  /** What every drive of a run starts with. */
  dependencies(state: RunState, how: Start): DriveDependencies;
}

/** The runs that this process drives. */
export class RunSupervisor {
  readonly #parts: RunSupervisorParts;
  readonly #running = new Map<Promise<unknown>, AbortController>();

  constructor(parts: RunSupervisorParts) {
    this.#parts = parts;
  }

  /** Takes the lease, brings the state up to date, and drives the run in the background. The state is its own from now on. */
  open(known: RunState, how: Start): RunHandle {
    if (how.move === undefined) this.#parts.repository.checkAccount(known);
    const { runId } = known;
    const updates = new Updates(this.#parts.store, runId, known.seq);
    const stop = new AbortController();
    const begin = () => {
      const done = this.#drive(known, updates, stop, how).finally(() => this.#running.delete(done));
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

  async #drive(state: RunState, updates: Updates, stop: AbortController, how: Start): Promise<RunResult> {
    const { media, clock } = this.#parts;
    const { revision = null } = how;
    const drift = revision?.kind === "drifted" ? revision.drift : null;
    const isMoved = how.move !== undefined && !this.#parts.repository.isOurs(state);
    const isOwed = revision === null && hasUncollectedWork(state);
    if (isRunFinal(state.status) && revision?.kind !== "rerun" && !isMoved && !isOwed) {
      return result(state, media, drift);
    }
    const at = clock.now();
    const holder = thisHolder(randomUUID());
    const { pending } = await this.#asHolder(holder, state, updates, stop, how).catch((error: unknown) => {
      // Its lease may be in the journal all the same: a disk that fails leaves open what arrived.
      retireHolder(holder);
      throw error;
    });
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
    if (!goesOn) return result(state, media, drift);
    const passedMs = clock.now() - at;
    const left = { waitForFundsMs: waitForFundsMs - passedMs, waitForCapMs: waitForCapMs - passedMs };
    return this.#drive(state, updates, stop, { ...again, ...left });
  }

  /** Acquires the lease and drives the run until it finishes or pauses. `pending`: the revision to apply after that. */
  async #asHolder(
    holder: LeaseHolder,
    state: RunState,
    updates: Updates,
    stop: AbortController,
    how: Start,
  ): Promise<{ readonly pending: RerunRevision | null }> {
    const { store, repository, clock, leaseMs: ttlMs } = this.#parts;
    const { runId } = state;
    const outcome = await store.takeLease(runId, holder, { at: clock.now(), ttlMs, isDead: isHolderDead });
    if (!outcome.acquired) throw new RunBusyError(runId, outcome.heldBy, outcome.expiresAt);
    const { lease } = outcome;
    const since = await store.read(runId, { afterSeq: state.seq });
    for (const event of since) apply(state, event);
    updates.push(since);
    const { move } = how;
    if (move !== undefined && !repository.isOurs(state)) {
      await this.#append({ events: [move], inbox: [] }, state, lease, updates);
    }
    const { events, pending, rests } = await beginRun(state, how);
    const outdated = new Set(how.outdatedStops);
    const inbox = outdated.size === 0 ? [] : (await store.inbox(runId)).filter(({ id }) => outdated.has(id));
    await this.#append({ events, inbox: inbox.map(({ id }) => id) }, state, lease, updates);
    if (rests) {
      await store.releaseLease(lease);
      return { pending };
    }
    const learned = await learnedPrices(state, store);
    await this.#append({ events: learned, inbox: [] }, state, lease, updates);
    const scheduler = await RunScheduler.of(state, this.#parts.durations);
    await drive(this.#parts.dependencies(state, how), state, lease, {
      schedule: (plan) => scheduler.schedule(plan),
      stop: stop.signal,
      onEvents: (events) => {
        scheduler.learn(events);
        updates.push(events);
      },
      onProgress: (progress) => {
        scheduler.estimate(progress);
        updates.progress(progress);
      },
    });
    return { pending };
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

  async #append(
    { events, inbox }: { readonly events: readonly RunEvent[]; readonly inbox: readonly number[] },
    state: RunState,
    lease: Lease,
    updates: Updates,
  ): Promise<void> {
    if (events.length === 0 && inbox.length === 0) return;
    const at = this.#parts.clock.now();
    const { runId, seq: afterSeq } = state;
    const stored = events.map(
      (event, index): StoredEvent => ({ runId, seq: afterSeq + index + 1, at, version: EVENT_VERSION, event }),
    );
    for (const one of stored) apply(state, one);
    const { store, notifier } = this.#parts;
    const notices = notifier === null ? [] : noticesOf(state, stored);
    const outcome = await store.commit({ lease, afterSeq, at, events, inbox, notices, ...rowOf(state) });
    if (!outcome.committed) throw new RunBusyError(runId, thisHolder(""), at);
    updates.push(stored);
    if (notices.length > 0) notifier?.poke();
  }
}

/** What the run's row says of it. */
function rowOf({ status, pause }: RunState): { readonly status: string; readonly resumeAt: number | null } {
  return { status, resumeAt: pause?.resumeAt ?? null };
}
