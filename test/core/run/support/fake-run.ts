import { deepStrictEqual } from "node:assert";
import {
  apply,
  type JournalError,
  newRun,
  type OutputFacts,
  type RunEvent,
  type StoredEvent,
} from "../../../../src/core/journal/events.ts";
import {
  isRunFinal,
  isStepFinal,
  lastAttempt,
  ownAttempts,
  type RunState,
} from "../../../../src/core/journal/state.ts";
import { ownText } from "../../../../src/core/kit/clean-text.ts";
import { referencesOf } from "../../../../src/core/plan/index.ts";
import type { Json, Plan, PlanStep, Reference } from "../../../../src/core/plan/plan.ts";
import { type Command, commandId } from "../../../../src/core/run/command.ts";
import type { DecideContext, Decision } from "../../../../src/core/run/decision-builder.ts";
import { offered } from "../../../../src/core/run/kinds/approve.ts";
import { runOutcome } from "../../../../src/core/run/outcome.ts";
import { decide, Scheduler } from "../../../../src/core/run/scheduler.ts";
import { planned } from "../../journal/samples.ts";

/** Outcome of a step's attempt; the last outcome is used for all further attempts. */
export type Fate = "made" | "partly" | "failed" | "failed-free" | "moderated" | "refused" | "unanswered" | "late-bill";

export interface World {
  readonly plan: Plan;
  /** Outcomes by path. Default: `made`. */
  readonly fates?: { readonly [path: string]: readonly Fate[] };
  /** Values of tasks and chats, by path. */
  readonly values?: { readonly [path: string]: Json };
  /** Plans of expansions, by path. */
  readonly expansions?: {
    readonly [path: string]: { readonly steps: readonly PlanStep[]; readonly returns: readonly Reference[] };
  };
  /** Steps whose model refuses the media of another step once these exist. */
  readonly refusedMedia?: { readonly [path: string]: string };
  /** Positions that people pick, by path; null rejects. */
  readonly decisions?: { readonly [path: string]: number | null } | "first";
  readonly budgetMicros?: number;
  readonly total?: number;
  /** True to compare each decision with a decision from all steps. */
  readonly isDecidedTwice?: boolean;
}

export const PRICE = 100_000;
const START = Date.UTC(2030, 0, 1);

/** A run without an engine. It makes decisions and invents responses, and time passes only if nothing else happens. */
export class FakeRun {
  world: World;
  readonly state: RunState;
  readonly events: StoredEvent[] = [];
  readonly active = new Map<string, Command>();
  /** Submits that were not sent yet. */
  readonly unsent = new Set<string>();
  readonly #scheduler: Scheduler;
  /** Times before which commands must not be repeated. */
  readonly notBefore = new Map<string, number>();
  /** Further context for decisions. */
  context: Partial<DecideContext> = {};
  #wakeAt: number | null = null;
  #assets = 0;
  now = START;

  constructor(world: World) {
    this.world = world;
    const { plan, budgetMicros = null, total = 3 } = world;
    const first = { ...planned(), plan, budgetMicros, limits: { total, perModel: {}, perModality: {} } };
    this.state = newRun("x", first, this.now);
    this.#scheduler = new Scheduler(this.state);
    this.events.push({ runId: "x", seq: 1, at: this.now, version: 1, event: first });
  }

  take(events: readonly RunEvent[]): void {
    for (const event of events) {
      const stored: StoredEvent = { runId: "x", seq: this.state.seq + 1, at: this.now, version: 1, event };
      apply(this.state, stored);
      this.#scheduler.note(event);
      this.events.push(stored);
    }
  }

  /** Decides until no further decision is possible without a response. */
  decide(): void {
    for (let rounds = 0; rounds < 1000; rounds++) {
      const decision = this.#decideTwice({
        now: this.now,
        order: this.state.planned.plan.steps,
        active: new Set(this.active.keys()),
        notBefore: this.notBefore,
        unsent: this.unsent,
        idempotencyWindowMs: 24 * 3_600_000,
        ...this.context,
      });
      this.take(decision.events);
      for (const command of decision.commands) {
        this.active.set(commandId(command), command);
        this.notBefore.delete(commandId(command));
      }
      this.#wakeAt = decision.wakeAt;
      if (decision.events.length === 0) return;
    }
    throw new Error("It decides for ever.");
  }

  /** Checks that a scheduler with all events makes the same decision as a decision from all steps. */
  #decideTwice(context: DecideContext): Decision {
    const { events, commands, wakeAt } = this.#scheduler.decide(context);
    const decision = { events, commands, wakeAt };
    if (this.world.isDecidedTwice !== true) return decision;
    const whole = decide(this.state, context);
    deepStrictEqual(decision, { events: whole.events, commands: whole.commands, wakeAt: whole.wakeAt });
    return decision;
  }

  /** Answers the active command at a position, modulo the number of commands. */
  answer(position: number): void {
    const ids = [...this.active.keys()];
    const id = ids[position % ids.length]!;
    const command = this.active.get(id)!;
    this.active.delete(id);
    this.now += 10;
    const isGivenUp = "step" in command && this.state.steps[command.step]!.isGivenUp === true;
    if (isGivenUp && isRunFinal(this.state.status)) this.take([{ type: "run.reopened" }]);
    this.take(this.#answerTo(command));
    if ("step" in command) this.#scheduler.ended(command.step);
  }

  /** Ends the command at a position without a response; it may be repeated after a delay. */
  fail(position: number, againInMs: number): void {
    const ids = [...this.active.keys()];
    const id = ids[position % ids.length]!;
    const command = this.active.get(id)!;
    this.active.delete(id);
    this.notBefore.set(id, this.now + againInMs);
    if ("step" in command) this.#scheduler.ended(command.step);
  }

  /** Runs until the end or a pause; `next` chooses the next command to answer. Returns false if the run is stuck. */
  run(next: () => number = () => 0): boolean {
    for (let rounds = 0; rounds < 10_000; rounds++) {
      this.decide();
      if (this.active.size > 0) this.answer(next());
      else if (isRunFinal(this.state.status)) return true;
      else if (this.state.status === "paused") {
        if (this.state.pause?.reason !== "approval" || !this.#decideAll()) return true;
      } else if (this.#wakeAt !== null) this.now = Math.max(this.now, this.#wakeAt);
      else return false;
    }
    return false;
  }

  /** A run that has come to its end or to a pause; `next` as in `run`. */
  static through(world: World, next?: () => number): FakeRun {
    const run = new FakeRun(world);
    if (!run.run(next)) throw new Error("The run is stuck.");
    return run;
  }

  /** The same run after some events, possibly in another world; active commands are started again. */
  static after(world: World, events: readonly StoredEvent[]): FakeRun {
    const run = new FakeRun(world);
    run.now = events.at(-1)!.at;
    run.take(events.slice(1).map(({ event }) => event));
    return run;
  }

  /** The types of events with their steps; `step.finished` also with its status. */
  log(): readonly string[] {
    return this.events.map(({ event }) => {
      const what = event.type === "step.finished" || event.type === "run.finished" ? event.status : event.type;
      return "step" in event ? `${event.step} ${what}` : what;
    });
  }

  #fateOf(path: string, attempt: number): Fate {
    const fates = this.world.fates?.[path] ?? ["made"];
    return fates[Math.min(attempt, fates.length) - 1]!;
  }

  /** The events of a quote. Conditions about values that do not exist yet are kept. */
  #quoted({ step, attempt, input }: Extract<Command, { type: "quote" }>): readonly RunEvent[] {
    const { steps } = this.state;
    const isOver = (path: string | undefined) => path !== undefined && isStepFinal(steps[path]!.status);
    if (isOver(this.world.refusedMedia?.[step])) {
      const reason = "refused media";
      const end: RunEvent = { type: "step.finished", step, status: "failed", reason };
      return steps[step]!.status === "waiting" ? [{ type: "step.started", step }, end] : [end];
    }
    const left = lastAttempt(steps[step]!)?.quote?.conditionalOn?.filter((path) => !isOver(path)) ?? [];
    const basis = referencesOf(input).length > 0 ? "provisional" : "quoted";
    return [
      { type: "job.quoted", step, attempt, costMicros: PRICE, basis, ...(left.length > 0 && { conditionalOn: left }) },
    ];
  }

  #answerTo(command: Command): readonly RunEvent[] {
    switch (command.type) {
      case "upload":
        return [{ type: "upload.stored", step: command.step, ...copyOf("0".repeat(64)) }];
      case "quote":
        return this.#quoted(command);
      case "submit":
        return this.#submitted(command);
      case "follow":
        return this.#followed(command);
      case "settle":
        return [{ type: "job.settled", step: command.step, attempt: command.attempt, costMicros: PRICE }];
      case "download": {
        const { step, attempt, index } = command;
        return [{ type: "output.downloaded", step, attempt, index, ...copyOf(`${step}${attempt}${index}`) }];
      }
      case "place":
        return runOutcome(this.state).toPlace.map(({ name, step, output }) => {
          return { type: "file.placed", name, step, index: output.index, file: `${name}.png` };
        });
      case "chat": {
        const { step, attempt } = command;
        const value = this.world.values?.[step] ?? "said";
        if (this.#fateOf(step, attempt) === "made")
          return [{ type: "chat.answered", step, attempt, value, costMicros: 5, jobId: null }];
        return [{ type: "chat.failed", step, attempt, error: failure(false), costMicros: 0, jobId: null }];
      }
      case "task": {
        const tries = ownAttempts(this.state.steps[command.step]!).length + 1;
        const value = this.world.values?.[command.step] ?? null;
        if (this.#fateOf(command.step, tries) === "made")
          return [{ type: "task.completed", step: command.step, value, files: [] }];
        return [{ type: "task.failed", step: command.step, error: failure(false) }];
      }
      case "pick":
        return [{ type: "task.failed", step: command.step, error: failure(false) }];
      case "expand": {
        const { steps, returns } = this.world.expansions![command.step]!;
        return [{ type: "expand.planned", step: command.step, steps, returns, groups: {} }];
      }
      default:
        throw new Error(`No answer to ${(command as Command).type}.`);
    }
  }

  #submitted({ step, attempt, model, mayExist }: Command & { readonly type: "submit" }): readonly RunEvent[] {
    const fate = this.#fateOf(step, attempt);
    if (fate === "refused")
      return [{ type: "job.submit.refused", step, attempt, error: failure(false, "INVALID_ARGUMENT") }];
    if (fate === "unanswered" && !mayExist)
      return [{ type: "job.submit.unknown", step, attempt, message: ownText("no answer") }];
    return [{ type: "job.submitted", step, attempt, jobId: `job-${step}-${attempt}`, model, replayed: mayExist }];
  }

  #followed({ step, attempt }: Command & { readonly type: "follow" }): readonly RunEvent[] {
    const fate = this.#fateOf(step, attempt);
    const bill = (costMicros: number): RunEvent => ({ type: "job.settled", step, attempt, costMicros });
    if (fate === "failed") return [{ type: "job.failed", step, attempt, error: failure(true) }, bill(PRICE)];
    if (fate === "failed-free") return [{ type: "job.failed", step, attempt, error: failure(true) }, bill(0)];
    if (fate === "moderated")
      return [{ type: "job.failed", step, attempt, error: failure(true, "MODERATION_FAILED") }, bill(0)];
    const plan = this.state.planned.plan.steps.find(({ path }) => path === step);
    const count = plan?.kind === "job" ? plan.outputs : 1;
    const outputs = Array.from({ length: count }, (_, index) => this.#output(index, fate === "partly" && index === 0));
    const completed: RunEvent = { type: "job.completed", step, attempt, outputs };
    return fate === "late-bill" ? [completed] : [completed, bill(PRICE)];
  }

  #output(index: number, failed: boolean): OutputFacts {
    const facts = { voiceId: null, contentType, width: 1, height: 1, durationMs: null, fps: null };
    if (failed) return { index, status: "FAILED", assetId: null, ...facts, error: failure(false) };
    return { index, status: "COMPLETED", assetId: `asset-${++this.#assets}`, ...facts, error: null };
  }

  /** Applies the decisions of people; returns false if there are none. */
  #decideAll(): boolean {
    const { decisions } = this.world;
    if (decisions === undefined) return false;
    this.take([{ type: "run.resumed" }]);
    for (const plan of this.state.planned.plan.steps) {
      const step = this.state.steps[plan.path]!;
      if (plan.kind !== "approve" || step.status !== "running" || step.approval !== null) continue;
      if (decisions === "first") {
        const [chosen] = offered(this.state, plan);
        this.take([{ type: "approval.decided", step: plan.path, approved: true, pick: 0, note: null }]);
        if (plan.choose) this.take([{ type: "pick.decided", step: plan.path, chosen: chosen!, scores: null }]);
        continue;
      }
      const pick = decisions[plan.path] ?? null;
      const decided = { approved: pick !== null, pick: plan.choose ? pick : null, note: null };
      this.take([{ type: "approval.decided", step: plan.path, ...decided }]);
      if (pick === null) continue;
      const shown = plan.shows[plan.choose ? pick % plan.shows.length : 0]!.$ref;
      this.take([{ type: "pick.decided", step: plan.path, chosen: { step: shown.step, index: 0 }, scores: null }]);
    }
    return true;
  }
}

const contentType = ownText("image/png");
const copyOf = (sha256: string) => ({ sha256, sizeBytes: 1, contentType });

function failure(retryable: boolean, code = "INTERNAL"): JournalError {
  return { code: ownText(code), message: ownText("failed on paper"), retryable };
}
