import type { RunEvent } from "../../journal/events.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { InboxMessage, Progress } from "../../journal/store.ts";
import { MINUTE_MS } from "../../kit/duration.ts";
import type { Json } from "../../plan/plan.ts";
import { type Command, commandId } from "../../run/command.ts";
import { bucketAway } from "../effects/effect.ts";
import { type EffectContext, perform, reportsProgress, usesService } from "../effects/index.ts";
import { isDiskError, MediaDiskError } from "../media/media-errors.ts";
import { type EffectResult, type ServiceFailure, ServiceWatch, watchId } from "../service/service-answers.ts";
import type { Surroundings } from "./decide-until-stable.ts";
import {
  DELEGATED_AGAIN_MS,
  type DriveDependencies,
  DriveMemory,
  type DriveOptions,
  type SliceOptions,
} from "./drive-tools.ts";

const RARELY_MS = 15 * MINUTE_MS;

interface Listener {
  /** Called with events for the journal. An empty list only reports that a command has ended. */
  answer(events: readonly RunEvent[]): void;
  fail(error: unknown): void;
  touch(step: string): void;
  priority(step: string): number;
}

export class CommandRunner {
  readonly #deps: DriveDependencies;
  readonly #state: RunState;
  readonly #options: DriveOptions;
  readonly #on: Listener;
  readonly active = new Set<string>();
  readonly interrupted = new Set<string>();
  readonly memory: DriveMemory;
  /** Ids of commands whose results arrived before `delegate` returned. */
  readonly #performed = new Set<string>();
  #handing = 0;
  readonly service: ServiceWatch;
  readonly #waiting: (() => void)[] = [];
  /** Aborts all commands except those that submit paid work, which must not be interrupted. */
  readonly #interrupt = new AbortController();
  readonly #asking = new Map<string, AbortController>();

  constructor(deps: DriveDependencies, state: RunState, options: DriveOptions, on: Listener) {
    this.#deps = deps;
    this.#state = state;
    this.#options = options;
    this.#on = on;
    this.memory = options.slice?.memory ?? new DriveMemory();
    this.service = new ServiceWatch(state, deps, this.memory.service);
    if (this.memory.spending !== null) deps.spending.restore(this.memory.spending);
    for (const id of this.memory.delegated.keys()) this.active.add(id);
  }

  get working(): number {
    return this.active.size - this.memory.delegated.size;
  }

  get known(): Pick<Surroundings, "active" | "interrupted" | "notBefore" | "unsent"> {
    const { active, interrupted, memory } = this;
    return { active, interrupted, notBefore: memory.notBefore, unsent: memory.unsent };
  }

  get isSubmitting(): boolean {
    return [...this.active].some((id) => id.startsWith("submit:") || id.startsWith("chat:"));
  }

  /** Awaits `turn`, then resumes the effects that were waiting before this call. */
  async awaiting<T>(turn: Promise<T>): Promise<T> {
    const waiting = this.#waiting.splice(0);
    try {
      return await turn;
    } finally {
      for (const goOn of waiting) goOn();
    }
  }

  waitNoLonger(): void {
    for (const goOn of this.#waiting.splice(0)) goOn();
  }

  interrupt(why: string): void {
    this.#interrupt.abort(new Error(why));
  }

  breakOff(ids: readonly string[]): void {
    for (const id of ids) this.#asking.get(id)?.abort(new Error("The run is no longer waiting for this job."));
  }

  get delegatedAgainAt(): number | null {
    const [first] = this.memory.delegated.values();
    return first === undefined ? null : first + DELEGATED_AGAIN_MS;
  }

  memo(isIdle: boolean): Json {
    return this.memory.left(isIdle ? null : [this.service.memo(), this.#deps.spending.memo()]);
  }

  start(command: Command): void {
    const id = commandId(command);
    this.active.add(id);
    this.memory.notBefore.delete(id);
    const { signal } = this.#interrupt;
    const abort = command.type === "follow" || command.type === "operation" ? new AbortController() : null;
    if (abort !== null) this.#asking.set(id, abort);
    const context: EffectContext = {
      ...this.#deps,
      state: this.#state,
      signal: abort === null ? signal : AbortSignal.any([signal, abort.signal]),
      priority: "step" in command ? this.#on.priority(command.step) : 0,
      emit: (events) => this.#on.answer(events),
      recorded: () => new Promise((resolve) => this.#waiting.push(resolve)),
      progress: (progress) => this.#progress(progress, reportsProgress.has(command.type)),
      reportOutage: (serviceFailure) => this.recordOutage(id, serviceFailure),
    };
    void this.#perform(command, context);
  }

  recordOutage(id: string, serviceFailure: ServiceFailure): number {
    const { delayMs, events } = this.service.failed(watchId(id), serviceFailure);
    this.#on.answer(events);
    return delayMs;
  }

  /** Updates commands in response to a message. Does not change the run's state. */
  onMessage(message: InboxMessage): void {
    if (message.type === "hint") this.#hint(message);
    else if (message.type === "adopt")
      this.memory.adopt({ step: message.step, attempt: this.#attemptsOf(message.step) });
    else if (message.type !== "performed") return;
    else if (this.memory.delegated.delete(message.command)) this.active.delete(message.command);
    else if (this.active.has(message.command)) this.#performed.add(message.command);
    this.#on.touch(message.step);
  }

  #hint(hint: Extract<InboxMessage, { readonly type: "hint" }>): void {
    this.memory.hint(hint);
    const jobId = this.#state.steps[hint.step]?.attempts[hint.attempt - 1]?.jobId ?? null;
    if (jobId !== null && this.#options.slice === undefined) this.#deps.client.notify(jobId);
  }

  waitsForAnswer(message: InboxMessage): boolean {
    if (message.type !== "adopt") return false;
    const n = this.#attemptsOf(message.step);
    return ["submit", "follow", "operation"].some((type) => this.active.has(`${type}:${message.step}#${n}`));
  }

  #attemptsOf(step: string): number {
    return this.#state.steps[step]?.attempts.length ?? 0;
  }

  async #perform(command: Command, context: EffectContext): Promise<void> {
    const id = commandId(command);
    try {
      const { slice } = this.#options;
      if (slice?.isDelegated(command) !== true) this.#ended(command, await perform(command, context));
      else if (await this.#hand(command, slice)) return this.#on.answer([]);
    } catch (error) {
      this.#threw(command, context, error);
    }
    this.#asking.delete(id);
    this.active.delete(id);
    if ("step" in command) this.#on.touch(command.step);
    this.#on.answer([]);
  }

  #threw(command: Command, { signal }: EffectContext, error: unknown): void {
    if (signal.aborted) return void this.interrupted.add(commandId(command));
    const serviceFailure = bucketAway(error);
    if (serviceFailure !== null) this.#ended(command, { end: "unreachable", events: [], serviceFailure });
    else this.#on.fail(isDiskError(error) ? new MediaDiskError(this.#state.runId, error) : error);
  }

  /** Hands the command to another worker. Returns false if a worker has already executed it. */
  async #hand(command: Command, { delegate }: SliceOptions): Promise<boolean> {
    const id = commandId(command);
    try {
      await delegate(command, this.memory.delegated.size + this.#handing++);
    } finally {
      this.#handing--;
    }
    if (this.#performed.delete(id)) return false;
    this.memory.delegated.set(id, this.#deps.now());
    return true;
  }

  #ended(command: Command, result: EffectResult): void {
    const id = commandId(command);
    const { service } = this;
    const { notBefore, unsent } = this.memory;
    const wait = (delayMs: number) => void notBefore.set(id, this.#deps.now() + delayMs);
    if (result.end === "notSent") unsent.add(id);
    else unsent.delete(id);
    if (isRunFinal(this.#state.status) && result.events.some(({ type }) => type === "run.paused")) {
      // An ended run does not pause. Its late work is polled at growing intervals.
      return wait(service.refused(`paused:${id}`) ?? RARELY_MS);
    }
    this.#on.answer(result.events);
    if (result.end === "unreachable" || result.end === "notSent") {
      if (result.serviceFailure !== null) wait(this.recordOutage(id, result.serviceFailure));
      return;
    }
    this.#on.answer(usesService.has(command.type) ? service.answered(watchId(id)) : service.markRecovered(watchId(id)));
    switch (result.end) {
      case "done":
        return;
      case "retryLater":
        return wait(result.inMs);
      case "deferred":
        return wait(Number.POSITIVE_INFINITY);
      case "failed":
        return this.#on.fail(result.failure);
      case "refused": {
        const delayMs = service.refused(id);
        wait(delayMs ?? Number.POSITIVE_INFINITY);
        if (delayMs === null) this.#on.answer(result.otherwise);
        return;
      }
      default:
        return result satisfies never;
    }
  }

  #progress(progress: Progress, isContact: boolean): void {
    if (isContact) this.service.noteContact();
    this.#options.onProgress(progress);
    this.#deps.store.setProgress(this.#state.runId, progress).catch(() => {});
  }
}
