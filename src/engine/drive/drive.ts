import type { RunEvent } from "../../journal/events.ts";
import { apply } from "../../journal/fold.ts";
import { ledgerChanges } from "../../journal/record.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { InboxEntry, Lease, Progress } from "../../journal/store.ts";
import { type Command, commandId } from "../../run/command.ts";
import { isSameLimit } from "../../run/headroom.ts";
import { Scheduler } from "../../run/scheduler.ts";
import { committedMicros } from "../change/drift.ts";
import { asksService, type EffectContext, type EffectResult, hearsService, perform } from "../effects/index.ts";
import { retryOrPause } from "../effects/retry-or-pause.ts";
import { isDiskError, MediaDiskError } from "../media/media-errors.ts";
import { type ServiceFailure, ServiceWatch, WALLET, watchId } from "../service/service-answers.ts";
import { type Decided, decideUntilStable, heldBy, type KnownHeadroom, restsAtOnce } from "./decide-until-stable.ts";
import type { DriveDependencies, DriveOptions, Schedule } from "./drive-options.ts";
import { InboxReader, keepRun } from "./keep-run.ts";
import { Rest } from "./rest.ts";
import { RunTakenOverError, RunWriter, storedEvent } from "./run-writer.ts";

/**
 * Drives one leased run until it finishes, pauses, or is stopped: decide, commit the decision, perform it, and feed the
 * answers back. Everything that was decided from events waits for their commit; answers that arrive together share one.
 */
export function drive(deps: DriveDependencies, state: RunState, lease: Lease, options: DriveOptions): Promise<void> {
  return new Driver(deps, state, lease, options).run();
}

/** Milliseconds between two looks where nothing is under way and nothing is due. */
const IDLE_MS = 1000;

class Driver {
  readonly #deps: DriveDependencies;
  readonly #state: RunState;
  readonly #scheduler: Scheduler;
  readonly #writer: RunWriter;
  readonly #lease: Lease;
  readonly #options: DriveOptions;
  readonly #inbox: InboxReader;
  readonly #rest: Rest;
  /** Answers of effects, not yet in the journal. */
  #answers: RunEvent[] = [];
  readonly #active = new Set<string>();
  readonly #notBefore = new Map<string, number>();
  /** Submits whose every send in this drive never left this machine. */
  readonly #unsent = new Set<string>();
  readonly #service: ServiceWatch;
  /** Aborts what may be broken off at any moment: everything but submits. */
  readonly #interrupt = new AbortController();
  #failure: unknown = null;
  /** The state holds what the journal does not. */
  #isBehind = false;

  constructor(deps: DriveDependencies, state: RunState, lease: Lease, options: DriveOptions) {
    this.#deps = deps;
    this.#state = state;
    this.#scheduler = new Scheduler(state);
    this.#writer = new RunWriter({ ...deps, onEvents: options.onEvents }, state, lease);
    this.#lease = lease;
    this.#options = options;
    this.#inbox = new InboxReader(deps, state.runId);
    this.#rest = new Rest(deps.clock);
    this.#service = new ServiceWatch(state, deps);
  }

  async run(): Promise<void> {
    const upkeep = new AbortController();
    const keeping = keepRun(this.#deps, this.#lease, upkeep.signal, {
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
    this.#options.stop.addEventListener("abort", onStop);
    try {
      await this.#loop();
    } finally {
      this.#options.stop.removeEventListener("abort", onStop);
      this.#interrupt.abort(new Error("The run stopped."));
      upkeep.abort(new Error("The run stopped."));
      await keeping;
    }
  }

  async #loop(): Promise<void> {
    for (;;) {
      if (this.#failure !== null) return this.#leave(this.#failure);
      try {
        if (await this.#goOn()) return;
      } catch (error) {
        this.#isBehind = true;
        this.#failure ??= error;
      }
    }
  }

  /** Decides, commits, performs, and waits for the next change; true once the run is parked. */
  async #goOn(): Promise<boolean> {
    const { commands, wakeAt } = await this.#advance();
    for (const command of commands) this.#start(command);
    if (this.#answers.length > 0) return false;
    if (this.#isFinished()) {
      const isParked = await this.#writer.park();
      if (!isParked) this.#inbox.noteArrival();
      return isParked;
    }
    // With nothing under way only the inbox or a stop can help: looked at now and then, whatever led here.
    await this.#rest.until(this.#active.size > 0 ? wakeAt : (wakeAt ?? this.#deps.now() + IDLE_MS));
    return false;
  }

  /** A decision that exceeds the headroom is discarded, and decided again. */
  async #advance(): Promise<Decided> {
    this.#rest.turn();
    const isBusy = this.#active.size > 0 || this.#answers.length > 0;
    const inbox = await this.#inbox.read(isBusy, (entry) => this.#isPending(entry));
    const answers: RunEvent[] = [];
    try {
      for (let headrooms = await this.#headrooms(inbox); ; ) {
        // Also answers that arrived while a commit was refused: their commands are no longer active and must not start again.
        answers.push(...this.#answers.splice(0));
        const decided = this.#decide(answers, inbox, headrooms);
        if (decided.events.length === 0 && inbox.length === 0) return decided;
        const headroom = await this.#writer.commit(decided.events, inbox, this.#isSubmitting());
        this.#recordWalletFailure();
        if (headroom === null) return decided;
        const ownMicros = committedMicros(this.#state) - heldBy(decided.events);
        await this.#reload();
        headrooms = [...headrooms.filter((known) => !isSameLimit(known.headroom, headroom)), { headroom, ownMicros }];
      }
    } catch (error) {
      // Not in the journal: stays queued for another try.
      this.#answers.unshift(...answers);
      throw error;
    }
  }

  /** What is known to be short before anything is tried: to be refused costs reading the whole journal again. */
  async #headrooms(inbox: readonly InboxEntry[]): Promise<readonly KnownHeadroom[]> {
    // A bill says nothing new of the wallet: what was charged is off it already.
    const moves = inbox.length > 0 || ledgerChanges(this.#answers).some(({ type }) => type !== "settle");
    const headrooms = await this.#deps.spending.headrooms(moves);
    return headrooms.map((headroom) => ({ headroom, ownMicros: committedMicros(this.#state) }));
  }

  #decide(answers: readonly RunEvent[], inbox: readonly InboxEntry[], headrooms: readonly KnownHeadroom[]): Decided {
    return decideUntilStable(this.#state, this.#scheduler, {
      ...{ answers, inbox, headrooms, active: this.#active, notBefore: this.#notBefore, unsent: this.#unsent },
      now: this.#deps.now(),
      order: () => this.#schedule().order,
      clockOffsetMs: this.#deps.client.clockOffsetMs(),
      idempotencyWindowMs: this.#deps.idempotencyWindowMs,
      isStopped: this.#options.stop.aborted,
      stopIfRequested: () => this.#stopIfRequested(),
    });
  }

  #schedule(): Schedule {
    return this.#options.schedule(this.#state.planned.plan);
  }

  async #reload(): Promise<void> {
    await this.#writer.reload();
    this.#isBehind = false;
  }

  #isSubmitting(): boolean {
    return [...this.#active].some((id) => id.startsWith("submit:") || id.startsWith("chat:"));
  }

  #start(command: Command): void {
    const id = commandId(command);
    this.#active.add(id);
    this.#notBefore.delete(id);
    const step = "step" in command ? command.step : null;
    const context: EffectContext = {
      ...this.#deps,
      state: this.#state,
      signal: this.#interrupt.signal,
      priority: step === null ? 0 : this.#schedule().priority(step),
      emit: (events) => this.#answer(events),
      progress: (progress) => this.#progress(progress, hearsService.has(command.type)),
      reportOutage: (serviceFailure) => this.#recordOutage(id, serviceFailure),
    };
    void this.#perform(command, context);
  }

  async #perform(command: Command, context: EffectContext): Promise<void> {
    try {
      this.#ended(command, await perform(command, context));
    } catch (error) {
      if (!this.#interrupt.signal.aborted)
        this.#failure ??= isDiskError(error) ? new MediaDiskError(this.#state.runId, error) : error;
    }
    this.#active.delete(commandId(command));
    if ("step" in command) this.#scheduler.ended(command.step);
    this.#rest.wake();
  }

  #ended(command: Command, { events, againInMs, serviceFailure, refused, unsent, failure }: EffectResult): void {
    const id = commandId(command);
    const wait = (delayMs: number) => this.#notBefore.set(id, this.#deps.now() + delayMs);
    if (againInMs !== undefined) wait(againInMs);
    if (unsent === true) this.#unsent.add(id);
    else this.#unsent.delete(id);
    this.#answer(events);
    if (failure !== undefined) this.#failure ??= failure;
    if (serviceFailure !== undefined) wait(this.#recordOutage(id, serviceFailure));
    else if (asksService.has(command.type)) this.#answer(this.#service.answered(watchId(id)));
    if (refused === undefined) return;
    const delayMs = this.#service.refused(id);
    wait(delayMs);
    if (delayMs === Number.POSITIVE_INFINITY) this.#answer(refused);
  }

  #recordOutage(id: string, serviceFailure: ServiceFailure): number {
    const { delayMs, events } = this.#service.failed(watchId(id), serviceFailure);
    this.#answer(events);
    return delayMs;
  }

  /** The balance is read within a commit, and is no command. */
  #recordWalletFailure(): void {
    const serviceFailure = this.#deps.spending.takeAnswer();
    if (serviceFailure === undefined) return;
    if (serviceFailure === null) {
      const back = this.#service.answered(WALLET);
      // Nothing new: a run that waits for the wallet is not woken by its own read of it.
      return back.length === 0 ? undefined : this.#answer(back);
    }
    const { events, serviceFailure: away } = retryOrPause(serviceFailure, this.#deps);
    this.#answer(events);
    if (away !== undefined) this.#recordOutage(WALLET, away);
  }

  /** A person's decision on a step whose job is being looked up waits for that answer. */
  #isPending({ message }: InboxEntry): boolean {
    if (message.type !== "adopt") return false;
    const n = this.#state.steps[message.step]?.attempts.length ?? 0;
    return ["submit", "follow"].some((type) => this.#active.has(`${type}:${message.step}#${n}`));
  }

  #answer(events: readonly RunEvent[]): void {
    if (events.length === 0) return this.#rest.wake();
    this.#answers.push(...events);
    this.#rest.wake();
  }

  #progress(progress: Progress, isHeard: boolean): void {
    if (isHeard) this.#service.heard();
    this.#options.onProgress(progress);
    // A lost progress figure is no loss.
    this.#deps.store.setProgress(this.#state.runId, progress).catch(() => {});
  }

  #stopIfRequested(): boolean {
    const stopping = restsAtOnce(this.#state);
    if (stopping) this.#interrupt.abort(new Error("The run was stopped."));
    return stopping;
  }

  /** Nothing in flight and nothing left to do before the run is resumed. */
  #isFinished(): boolean {
    return this.#active.size === 0 && (isRunFinal(this.#state.status) || this.#state.status === "paused");
  }

  /** Something is wrong outside the run: let submits under way finish, write down what they answered, and go. */
  async #leave(failure: unknown): Promise<never> {
    this.#interrupt.abort(new Error("The run stopped."));
    while (this.#active.size > 0) {
      this.#rest.turn();
      await this.#rest.until(null);
    }
    if (!(failure instanceof RunTakenOverError)) {
      await this.#commitAnswers().catch(() => {});
      await this.#deps.store.releaseLease(this.#lease).catch(() => {});
    }
    throw failure;
  }

  /** Writes down what submits under way answered, where that is possible; else they are sent again under their keys. */
  async #commitAnswers(): Promise<void> {
    if (this.#isBehind) await this.#reload();
    const at = this.#deps.now();
    const answers = this.#answers.splice(0);
    for (const event of answers) apply(this.#state, storedEvent(this.#state.runId, this.#state.seq, at, event));
    await this.#writer.append(answers);
  }
}
