import { type Clock, sleep } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { heldBy, ledgerChanges } from "../../journal/record.ts";
import { attemptOf, isRunFinal, planStep, type RunState } from "../../journal/state.ts";
import type { InboxEntry, JournalStore, Lease } from "../../journal/store.ts";
import { isShowrunnerError } from "../../kit/errors.ts";
import { LongWork } from "../../kit/long-work.ts";
import { committedMicros, isSameLimit } from "../../run/money.ts";
import type { Scheduler } from "../../run/scheduler.ts";
import { readingFor } from "../media/media-reader.ts";
import { holdOnMs, retryOrPause, WALLET } from "../service/service-answers.ts";
import { CommandRunner } from "./command-runner.ts";
import {
  type Decided,
  decideUntilStable,
  type KnownHeadroom,
  restsAtOnce,
  withReopening,
} from "./decide-until-stable.ts";
import type { DriveDependencies, DriveOptions, Schedule } from "./drive-tools.ts";
import { RunTakenOverError, type RunWriter } from "./run-writer.ts";

/** Executes the run. Resolves with the time when it is due again, in epoch milliseconds; null if it is idle. */
export function drive(
  deps: DriveDependencies,
  state: RunState,
  writer: RunWriter,
  options: DriveOptions,
): Promise<number | null> {
  return new Driver(deps, state, writer, options).run();
}

const IDLE_MS = 1000;
const PARKED_IDLE_MS = 10_000;

interface Parked {
  readonly wakeAt: number | null;
}

class Driver {
  readonly #deps: DriveDependencies;
  readonly #state: RunState;
  readonly #scheduler: Scheduler;
  readonly #writer: RunWriter;
  readonly #options: DriveOptions;
  readonly #inbox: InboxReader;
  readonly #rest: Rest;
  readonly #commands: CommandRunner;
  #answers: RunEvent[] = [];
  #failure: unknown = null;
  /** True if the state may contain events that were never written to the journal. */
  #needsReload = false;

  constructor(deps: DriveDependencies, state: RunState, writer: RunWriter, options: DriveOptions) {
    this.#deps = deps;
    this.#state = state;
    this.#scheduler = options.tools.scheduler;
    this.#writer = writer;
    this.#options = options;
    this.#inbox = new InboxReader(deps, state.runId, options.hasMail);
    this.#rest = new Rest(deps.clock);
    this.#commands = new CommandRunner(deps, state, options, {
      answer: (events) => this.#answer(events),
      fail: (error) => {
        this.#failure ??= error;
      },
      touch: (step) => this.#scheduler.ended(step),
      priority: (step) => this.#schedule().priority(step),
    });
  }

  async run(): Promise<number | null> {
    const upkeep = new AbortController();
    const keeping = keepRun({ ...this.#deps, leaseMs: this.#options.leaseMs }, this.#writer.lease, upkeep.signal, {
      lost: (failure) => {
        this.#failure ??= failure;
        this.#rest.wake();
      },
      inbox: () => {
        this.#inbox.noteArrival();
        this.#rest.wake();
      },
    });
    const onStop = () => this.#rest.wake();
    const ends = [this.#options.stop, ...(this.#options.slice === undefined ? [] : [this.#options.slice.end])];
    for (const end of ends) end.addEventListener("abort", onStop);
    try {
      return await readingFor(`run ${this.#state.runId}`, () => this.#loop());
    } finally {
      for (const end of ends) end.removeEventListener("abort", onStop);
      this.#commands.interrupt("The run stopped.");
      upkeep.abort(new Error("The run stopped."));
      await keeping;
    }
  }

  async #loop(): Promise<number | null> {
    for (let isPrepared = false; ; isPrepared = true) {
      if (this.#failure !== null) return this.#fail(this.#failure);
      try {
        const parked = isPrepared ? await this.#step() : await this.#prepare();
        if (parked !== null) return parked.wakeAt;
      } catch (error) {
        this.#needsReload = true;
        this.#failure ??= error;
      }
    }
  }

  async #prepare(): Promise<null> {
    this.#scheduler.prepare();
    await new LongWork().pause(this.#state.planned.plan.steps.length);
    return null;
  }

  async #step(): Promise<Parked | null> {
    const { slice } = this.#options;
    const { commands, wakeAt, lateAt, parked } = await this.#commands.awaiting(this.#advance());
    if (parked !== null) return parked;
    for (const command of commands) this.#commands.start(command);
    const isIdle = this.#commands.working === 0;
    if (slice?.end.aborted === true && !(isIdle && this.#answers.length === 0)) return this.#cutOff();
    if (this.#answers.length > 0) return null;
    const rest = this.#restUntil(wakeAt, lateAt);
    if (rest !== null) return this.#park(rest.wakeAt);
    this.#leaveLate();
    // If nothing is in progress, only the inbox or a stop can change anything, so check from time to time.
    await this.#rest.until(isIdle ? (wakeAt ?? this.#deps.now() + IDLE_MS) : wakeAt);
    return null;
  }

  #restUntil(wakeAt: number | null, lateAt: number | null): Parked | null {
    if (this.#isFinished()) return { wakeAt: restsAtOnce(this.#state) ? null : lateAt };
    if (this.#options.slice === undefined || this.#commands.working > 0 || this.#failure !== null) return null;
    const at = wakeAt ?? this.#commands.delegatedAgainAt ?? this.#deps.now() + PARKED_IDLE_MS;
    return at > this.#deps.now() ? { wakeAt: at } : null;
  }

  /**
   * Stops polling for work that the run is no longer waiting for. Polling resumes the next time the run is executed.
   */
  #leaveLate(): void {
    const { slice } = this.#options;
    const isIdle = isRunFinal(this.#state.status) || this.#state.status === "paused";
    if (slice === undefined && isIdle && this.#commands.working > 0)
      this.#commands.breakOff(this.#scheduler.lateCommands());
  }

  async #cutOff(): Promise<Parked | null> {
    await this.#untilIdle();
    if (this.#failure !== null) return null;
    await this.#commitAnswers();
    const isOver = isRunFinal(this.#state.status) && this.#scheduler.lateCommands().length === 0;
    return this.#park(isOver ? null : this.#deps.now());
  }

  /** Releases the run until it is due again. If a message has arrived, changes nothing and returns null. */
  async #park(
    at: number | null,
    events: readonly RunEvent[] = [],
    inbox: readonly InboxEntry[] = [],
  ): Promise<Parked | null> {
    const { status, pause } = this.#state;
    const dueAt = at ?? (status === "paused" ? pause?.resumeAt : null) ?? null;
    const wakeAt = dueAt === null ? null : Math.ceil(dueAt);
    const wake = this.#options.slice && { at: wakeAt, memo: this.#commands.memo(at === null) };
    const isParked = await this.#writer.park(wake, events, inbox);
    if (!isParked) this.#inbox.noteArrival();
    return isParked ? { wakeAt } : null;
  }

  async #untilIdle(): Promise<void> {
    while (this.#commands.working > 0) {
      this.#commands.waitNoLonger();
      this.#rest.turn();
      await this.#rest.until(null);
    }
  }

  async #advance(): Promise<Decided & { readonly parked: Parked | null }> {
    this.#rest.turn();
    const isBusy = this.#commands.working > 0 || this.#answers.length > 0;
    const inbox = await this.#inbox.read(isBusy, ({ message }) => this.#commands.waitsForAnswer(message));
    for (const { message } of inbox) this.#commands.onMessage(message);
    const answers: RunEvent[] = [];
    try {
      for (let headrooms = await this.#headrooms(inbox); ; ) {
        // Include answers that arrived while a commit was refused: their commands are no longer active and must not
        // start again.
        answers.push(...this.#answers.splice(0));
        const decided = this.#decide(answers, inbox, headrooms);
        if (decided.events.length === 0 && inbox.length === 0) return { ...decided, parked: null };
        this.#recordWalletFailure();
        const parked = await this.#parkWith(decided, inbox);
        if (parked !== null) return { ...decided, parked };
        const { spending } = this.#deps;
        const { isSubmitting } = this.#commands;
        const headroom = await this.#writer.commit(decided.events, inbox, { spending, isSubmitting });
        this.#recordWalletFailure();
        if (headroom === null) return { ...decided, parked: null };
        const ownMicros = committedMicros(this.#state) - heldBy(ledgerChanges(decided.events));
        await this.#reload();
        headrooms = [...headrooms.filter((known) => !isSameLimit(known.headroom, headroom)), { headroom, ownMicros }];
      }
    } catch (error) {
      this.#answers.unshift(...answers);
      throw error;
    }
  }

  /**
   * Commits a decision and releases the run. Does nothing and returns null if work remains, if the decision reserves
   * money, or if a message has arrived.
   */
  async #parkWith({ commands, events, wakeAt, lateAt }: Decided, inbox: readonly InboxEntry[]): Promise<Parked | null> {
    if (commands.length > 0 || this.#answers.length > 0 || ledgerChanges(events).some(({ type }) => type === "hold"))
      return null;
    const rest = this.#restUntil(wakeAt, lateAt);
    return rest === null ? null : this.#park(rest.wakeAt, events, inbox);
  }

  /**
   * Reads the amounts that the limits still allow. Deciding with these amounts avoids commits that would be refused.
   */
  async #headrooms(inbox: readonly InboxEntry[]): Promise<readonly KnownHeadroom[]> {
    // A final charge alone leaves the wallet unchanged, because the service has already deducted it.
    const moves = inbox.length > 0 || ledgerChanges(this.#answers).some(({ type }) => type !== "settle");
    const headrooms = await this.#deps.spending.headrooms(moves);
    return headrooms.map((headroom) => ({ headroom, ownMicros: committedMicros(this.#state) }));
  }

  #decide(answers: readonly RunEvent[], inbox: readonly InboxEntry[], headrooms: readonly KnownHeadroom[]): Decided {
    return decideUntilStable(this.#state, this.#scheduler, {
      answers,
      inbox,
      headrooms,
      ...this.#commands.known,
      now: this.#deps.now(),
      order: () => this.#schedule().order,
      expected: this.#options.tools.expected,
      asksForLate: this.#options.slice !== undefined,
      clockOffsetMs: this.#deps.client.clockOffsetMs(),
      idempotencyWindowMs: this.#deps.idempotencyWindowMs,
      isStopped: this.#options.stop.aborted,
      stopIfRequested: () => this.#stopIfRequested(),
    });
  }

  #schedule(): Schedule {
    return this.#options.tools.schedule(this.#state.planned.plan);
  }

  async #reload(): Promise<void> {
    await this.#writer.reload();
    this.#needsReload = false;
  }

  #recordWalletFailure(): void {
    const judged = this.#deps.spending.takeAnswer();
    if (judged === undefined) return;
    if (judged === null) {
      const back = this.#commands.service.answered(WALLET);
      // If nothing has changed, queue nothing: a run that waits for funds must not be woken by its own balance read.
      return back.length === 0 ? undefined : this.#answer(back);
    }
    const result = retryOrPause(judged, this.#deps);
    this.#answer(result.events);
    if (result.end === "unreachable") this.#commands.recordOutage(WALLET, result.serviceFailure);
  }

  #answer(events: readonly RunEvent[]): void {
    this.#answers.push(...events);
    this.#rest.wake();
  }

  #stopIfRequested(): boolean {
    const stopping = restsAtOnce(this.#state);
    if (stopping) this.#commands.interrupt("The run was stopped.");
    return stopping;
  }

  #isFinished(): boolean {
    return this.#commands.working === 0 && (isRunFinal(this.#state.status) || this.#state.status === "paused");
  }

  /** Ends the execution with an error, after recording the results of requests in progress. */
  async #fail(failure: unknown): Promise<never> {
    this.#commands.interrupt("The run stopped.");
    await this.#untilIdle();
    const isOurs = !(failure instanceof RunTakenOverError);
    const written = isOurs ? this.#commitAnswers() : Promise.reject(failure);
    const { stop } = this.#options;
    await written.catch(() => leaveToNext({ ...this.#deps, stop }, this.#state, this.#answers)).catch(() => {});
    if (isOurs) await this.#deps.store.releaseLease(this.#writer.lease).catch(() => {});
    throw failure;
  }

  async #commitAnswers(): Promise<void> {
    if (this.#needsReload) await this.#reload();
    await this.#writer.record(withReopening(this.#state, this.#answers));
    this.#answers = [];
  }
}

class Rest {
  readonly #clock: Clock;
  #isWoken = false;
  #end: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets earlier wake-ups. Only a wake-up after this call ends the next wait. */
  turn(): void {
    this.#isWoken = false;
  }

  wake(): void {
    this.#isWoken = true;
    this.#end();
  }

  async until(at: number | null): Promise<void> {
    if (this.#isWoken) return;
    let timer: { cancel(): void } | null = null;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      if (at !== null) timer = this.#clock.setTimer(Math.max(0, at - this.#clock.now()), resolve);
    });
    this.#end = () => {};
    (timer as { cancel(): void } | null)?.cancel();
  }
}

const MAY_PASS: ReadonlySet<string> = new Set([
  "JOURNAL_BUSY",
  "JOURNAL_DISK_FULL",
  "JOURNAL_IO",
  "JOURNAL_READ_ONLY",
  "JOURNAL_UNREACHABLE",
]);

interface Leaving {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly now: () => number;
  readonly stop: AbortSignal;
}

/**
 * Sends unrecorded provider results to the run's inbox, so that the next process can record them. They cannot be
 * requested again.
 */
async function leaveToNext(leaving: Leaving, state: RunState, answers: readonly RunEvent[]): Promise<void> {
  const { store, now } = leaving;
  for (const answer of answers) {
    if (answer.type !== "job.submitted" && answer.type !== "job.submit.refused") continue;
    const { step, attempt: n } = answer;
    const { key, provider } = attemptOf(state, answer);
    if (provider === undefined) continue;
    const events = answers.filter((event) => "attempt" in event && event.step === step && event.attempt === n);
    const message = {
      type: "performed",
      step,
      command: `${planStep(state, step).kind}:${step}#${n}`,
      of: key!,
      events,
    } as const;
    await untilTaken(() => store.send(state.runId, message, now()), leaving);
  }
}

async function untilTaken(send: () => Promise<unknown>, { clock, stop }: Leaving): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return void (await send());
    } catch (error) {
      const mayPass = isShowrunnerError(error) && MAY_PASS.has(error.code);
      const waitMs = mayPass && !stop.aborted ? holdOnMs(tries) : null;
      if (waitMs === null) throw error;
      await sleep(clock, waitMs, stop).catch(() => {});
    }
  }
}

interface Keeping {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly now: () => number;
  readonly leaseMs: number;
  readonly inboxEveryMs: number;
}

const BUSY_EVERY_MS = 50;

/** Reads a run's inbox, at most once per `BUSY_EVERY_MS` while the run is busy. */
class InboxReader {
  readonly #from: Pick<Keeping, "store" | "now">;
  readonly #runId: string;
  #readAt: number | null = null;
  #isKnownEmpty: boolean;

  constructor(from: Pick<Keeping, "store" | "now">, runId: string, hasMail: boolean) {
    this.#from = from;
    this.#runId = runId;
    this.#isKnownEmpty = !hasMail;
  }

  noteArrival(): void {
    this.#readAt = null;
    this.#isKnownEmpty = false;
  }

  /** Returns the inbox entries, except those for which `isPending` returns true. A later call returns these. */
  async read(isBusy: boolean, isPending: (entry: InboxEntry) => boolean): Promise<readonly InboxEntry[]> {
    const now = this.#from.now();
    if (isBusy && this.#readAt !== null && Math.abs(now - this.#readAt) < BUSY_EVERY_MS) return [];
    this.#readAt = now;
    const isKnownEmpty = this.#isKnownEmpty;
    this.#isKnownEmpty = false;
    if (isKnownEmpty) return [];
    const entries = await this.#from.store.inbox(this.#runId);
    const due = entries.filter((entry) => !isPending(entry));
    if (due.length < entries.length) this.noteArrival();
    return due;
  }
}

async function keepRun(
  keeping: Keeping,
  lease: Lease,
  signal: AbortSignal,
  on: { lost(failure: unknown): void; inbox(): void },
): Promise<void> {
  await Promise.all([keepLease(keeping, lease, signal, on.lost), watchInbox(keeping, lease.runId, signal, on.inbox)]);
}

async function keepLease(
  { store, clock, now, leaseMs }: Keeping,
  lease: Lease,
  signal: AbortSignal,
  lost: (failure: unknown) => void,
): Promise<void> {
  for (;;) {
    await sleep(clock, leaseMs / 3, signal).catch(() => {});
    if (signal.aborted) return;
    const stored = await store.renewLease(lease, { at: now(), ttlMs: leaseMs }).catch((error: unknown) => error);
    if (stored === true) continue;
    return lost(stored === false ? new RunTakenOverError(lease.runId) : stored);
  }
}

async function watchInbox(
  { store, clock, inboxEveryMs }: Keeping,
  runId: string,
  signal: AbortSignal,
  found: () => void,
): Promise<void> {
  for (;;) {
    await sleep(clock, inboxEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    const entries = await store.inbox(runId).catch(() => []);
    if (entries.length > 0) found();
  }
}
