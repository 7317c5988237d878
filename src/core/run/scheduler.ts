import TinyQueue from "tinyqueue";
import { type RunEvent, specOf } from "../journal/events.ts";
import { isRunFinal, lastAttempt, type RunState } from "../journal/state.ts";
import { DAY_MS } from "../kit/duration.ts";
import { type Plan, type PlanStep, traitsOf } from "../plan/plan.ts";
import { type Command, commandId } from "./command.ts";
import { type DecideContext, type Decision, DecisionBuilder } from "./decision-builder.ts";
import { undecided } from "./kinds/approve.ts";
import { decideStep } from "./kinds/index.ts";
import { isUnsent } from "./kinds/job.ts";
import { collectOutputs } from "./kinds/paid.ts";
import { raisedHolds } from "./money.ts";
import { runOutcome } from "./outcome.ts";
import type { StepNode } from "./pruning.ts";
import type { ProducedOutput } from "./resolve.ts";
import { expiring, uncopied } from "./retention.ts";
import { RunIndex } from "./run-index.ts";
import { secondGate } from "./second-choice.ts";
import {
  askForLate,
  askingIds,
  endWaiting,
  isLatePauseOver,
  lateSteps,
  unresolvedText,
  wakeForLate,
} from "./waiting.ts";

/** How long after a run's end a worker polls for overdue requests. After that, only `resume` polls for them. */
const LATE_FOR_MS = DAY_MS;
const NOTHING: Decision = { events: [], commands: [], wakeAt: null };

const byRank = (a: StepNode, b: StepNode) => a.rank - b.rank;

/** The facts on which every decision depends. If one of them changes, all steps are reconsidered. */
interface Basis {
  readonly plan: Plan;
  readonly order: readonly PlanStep[];
  readonly status: RunState["status"];
  readonly stoppedBy: string | null;
  readonly budgetMicros: number | null;
  readonly maxUnquotedMicros: number | null;
  readonly agreed: RunState["agreed"];
  readonly overcharges: string;
  readonly hasLosses: boolean;
}

/** Decides what to do next. The same state and context always give the same decision. */
export function decide(state: RunState, context: DecideContext): Decision {
  return new Scheduler(state).decide(context);
}

/** Decides what a run does next. After most events, it reconsiders only the steps that may be affected. */
export class Scheduler {
  readonly #state: RunState;
  #index: RunIndex | null = null;
  #seq = -1;
  #basis: Basis | null = null;
  readonly #due = new TinyQueue<StepNode>([], byRank);
  readonly #slotless = new Map<string, TinyQueue<StepNode>>();
  readonly #moneyless = new TinyQueue<StepNode>([], byRank);
  readonly #timers = new TinyQueue<{ readonly at: number; readonly node: StepNode }>([], (a, b) => a.at - b.at);
  readonly #watching = new Set<StepNode>();

  constructor(state: RunState) {
    this.#state = state;
  }

  note(event: RunEvent): void {
    const { seq } = this.#state;
    const { changes } = specOf(event);
    if (seq !== this.#seq + 1 || changes === "plan") this.#index = null;
    this.#seq = seq;
    if (changes === "step" && "step" in event) this.#index?.update(event.step);
  }

  prepare(): void {
    this.#indexed();
  }

  /** Returns the ids of the commands that poll for overdue requests. The process may exit before they end. */
  lateCommands(): readonly string[] {
    return askingIds(this.#state, lateSteps({ state: this.#state, index: this.#indexed() }));
  }

  ended(path: string): void {
    this.#index?.update(path);
  }

  decide(context: DecideContext): Decision {
    const state = this.#state;
    if (isRunFinal(state.status)) {
      this.#basis = null;
      return lateDecision(new DecisionBuilder(state, context, this.#indexed()));
    }
    if (isLatePauseOver(state)) return { ...NOTHING, events: [{ type: "run.resumed", byItself: true }] };
    if (state.status === "planned") return { ...NOTHING, events: [{ type: "run.started" }] };
    const index = this.#indexed();
    const raised = raisedHolds(state, index.holding, (path, attempt) => isUnsent(context, path, attempt));
    if (raised.length > 0) return { ...NOTHING, events: raised };
    let basis = this.#basisOf(index, context.order);
    const isSame = index.late.size === 0 && this.#basis !== null && isEqual(this.#basis, basis);
    let builder = new DecisionBuilder(state, context, index);
    let decided = isSame ? this.#decideDue(builder) : null;
    if (decided === null) {
      builder = new DecisionBuilder(state, context, this.#ranked(index, context.order));
      decided = this.#decideAll(builder);
      // The ranks have changed, and they determine which of several failures stops the run.
      basis = this.#basisOf(index, context.order);
    }
    // If this decision paused the run, the steps before and after the pause were decided under different conditions.
    this.#basis = builder.hasPaused ? null : basis;
    if (builder.mayChangeNeeds) for (const node of decided) this.#touch(node);
    const next = this.#nextTimer();
    if (next !== undefined) builder.wakeNoLater(next);
    return completeDecision(builder);
  }

  #indexed(): RunIndex {
    if (this.#index !== null && this.#seq === this.#state.seq) return this.#index;
    this.#seq = this.#state.seq;
    this.#basis = null;
    this.#index = new RunIndex(this.#state, (node) => this.#touch(node));
    return this.#index;
  }

  #basisOf(index: RunIndex, order: readonly PlanStep[]): Basis {
    const { status, budgetMicros, maxUnquotedMicros, agreed, losses, planned } = this.#state;
    const overcharges = Object.entries(this.#state.overcharges);
    const learnt = overcharges.map(([model, { worst, unquotedMicros, isAbove, isFree }]) => [
      model,
      worst,
      unquotedMicros,
      isAbove === true,
      isFree === true,
    ]);
    return {
      plan: planned.plan,
      order,
      status,
      stoppedBy: index.stoppedBy,
      budgetMicros,
      maxUnquotedMicros,
      agreed,
      overcharges: learnt.length === 0 ? "" : JSON.stringify(learnt),
      hasLosses: losses > 0,
    };
  }

  #touch(node: StepNode): void {
    if (node.isDue) return;
    node.isDue = true;
    this.#due.push(node);
  }

  #ranked(index: RunIndex, order: readonly PlanStep[]): RunIndex {
    const steps = [...order, ...this.#state.removedSteps];
    for (const [rank, { path }] of steps.entries()) index.nodes.get(path)!.rank = rank;
    return index;
  }

  #decideAll(builder: DecisionBuilder): readonly StepNode[] {
    this.#slotless.clear();
    for (const queue of [this.#due, this.#moneyless, this.#timers]) {
      queue.data.length = 0;
      queue.length = 0;
    }
    this.#watching.clear();
    const { order } = builder.context;
    const nodes = [...order, ...this.#state.removedSteps].map(({ path }) => builder.index.nodes.get(path)!);
    for (const node of nodes) this.#decideOne(node, builder);
    return nodes;
  }

  /**
   * Decides only the steps that are due. Returns null if a decision affects all steps; the caller must then decide all.
   */
  #decideDue(builder: DecisionBuilder): readonly StepNode[] | null {
    const { mayStart, context } = builder;
    for (const node of this.#watching) this.#touch(node);
    for (let at = this.#nextTimer(); at !== undefined && at <= context.now; at = this.#nextTimer()) {
      this.#touch(this.#timers.pop()!.node);
    }
    const decided: StepNode[] = [];
    for (let node = this.#next(builder); node !== null; node = this.#next(builder)) {
      this.#decideOne(node, builder);
      decided.push(node);
      if (builder.mayStart !== mayStart) return null;
    }
    return decided;
  }

  #decideOne(node: StepNode, builder: DecisionBuilder): void {
    const { plan } = node;
    const step = this.#state.steps[plan.path]!;
    builder.next();
    if (node.isRemoved) collectOutputs(plan, step, builder);
    else decideStep(plan, step, builder);
    const { blockedBy, wakeAt, isWatching } = builder.waitsFor;
    node.isDue = false;
    node.dueAt = wakeAt;
    if (wakeAt !== null) this.#timers.push({ at: wakeAt, node });
    if (isWatching) this.#watching.add(node);
    else this.#watching.delete(node);
    // A step that waits for other steps needs no queue, because it is reconsidered when these steps end.
    node.queue = blockedBy === null || node.openSources > 0 ? null : this.#queueOf(plan, blockedBy);
    node.queue?.push(node);
  }

  #queueOf(plan: PlanStep, blockedBy: "slots" | "money"): TinyQueue<StepNode> {
    if (blockedBy === "money") return this.#moneyless;
    const name = `${traitsOf(plan).modality} ${"model" in plan ? plan.model : ""}`;
    const queue = this.#slotless.get(name) ?? new TinyQueue<StepNode>([], byRank);
    this.#slotless.set(name, queue);
    return queue;
  }

  #next(builder: DecisionBuilder): StepNode | null {
    let best = firstOf(this.#due, (node) => node.isDue);
    for (const queue of this.#slotless.values()) {
      const node = firstOf(queue, (candidate) => candidate.queue === queue);
      if (node !== null && isBefore(node, best) && builder.isSlotFree(node.plan)) best = node;
    }
    const node = builder.hasMoney ? firstOf(this.#moneyless, (candidate) => candidate.queue === this.#moneyless) : null;
    return node !== null && isBefore(node, best) ? node : best;
  }

  #nextTimer(): number | undefined {
    for (;;) {
      const timer = this.#timers.peek();
      if (timer === undefined || timer.node.dueAt === timer.at) return timer?.at;
      this.#timers.pop();
    }
  }
}

function lateDecision(builder: DecisionBuilder): Decision {
  const { state, index, context } = builder;
  if (context.asksForLate !== true || context.now > (state.finishedAt ?? 0) + LATE_FOR_MS) return NOTHING;
  const givenUp = [...index.late].filter((path) => state.steps[path]!.isGivenUp);
  for (const path of givenUp) {
    const { n: attempt, jobId, provider } = lastAttempt(state.steps[path]!)!;
    const target = { step: path, attempt };
    askForLate(
      provider === undefined ? { type: "follow", ...target, jobId: jobId! } : { type: "operation", ...target },
      builder,
    );
  }
  wakeForLate(builder, askingIds(state, givenUp));
  return { ...NOTHING, commands: builder.commands, lateAt: builder.lateAt };
}

function firstOf(queue: TinyQueue<StepNode>, isOpen: (node: StepNode) => boolean): StepNode | null {
  for (;;) {
    const node = queue.peek();
    if (node === undefined) return null;
    if (isOpen(node)) return node;
    queue.pop();
  }
}

function isBefore(node: StepNode, other: StepNode | null): boolean {
  return other === null || node.rank < other.rank;
}

function isEqual(basis: Basis, otherBasis: Basis): boolean {
  return (Object.keys(basis) as (keyof Basis)[]).every((key) => basis[key] === otherBasis[key]);
}

function completeDecision(builder: DecisionBuilder): Decision {
  if (builder.mayChangeNeeds) return withoutNewWork(builder);
  if (builder.events.length === 0 && builder.stoppedBy !== null) cancelRemaining(builder, builder.stoppedBy);
  const late = lateSteps(builder);
  const asking = askingIds(builder.state, late, { all: true });
  const { active } = builder.context;
  const waitsOnly = active.size === asking.filter((id) => active.has(id)).length;
  const asksOnly = builder.commands.every((command) => asking.includes(commandId(command)));
  if (builder.events.length === 0 && asksOnly && waitsOnly) finishOrPause(builder, late);
  wakeForLate(builder, asking);
  return builder;
}

const written: ReadonlySet<RunEvent["type"]> = new Set([
  "step.finished",
  "chat.abandoned",
  "job.unresolved",
  "job.submit.resent",
]);

function withoutNewWork({ events, commands }: DecisionBuilder): Decision {
  const ends = new Set(events.flatMap((event) => (event.type === "step.finished" ? [event.step] : [])));
  const isLeft = (event: RunEvent) => {
    if (event.type === "step.started") return ends.has(event.step);
    return written.has(event.type);
  };
  const isSeenThrough = (command: Command) => {
    const { type } = command;
    if ("mayExist" in command) return command.mayExist;
    return type === "follow" || type === "settle" || type === "download" || type === "operation";
  };
  return { events: events.filter(isLeft), commands: commands.filter(isSeenThrough), wakeAt: null };
}

function cancelRemaining(builder: DecisionBuilder, reason: string): void {
  for (const { path } of builder.context.order) {
    const step = builder.state.steps[path]!;
    if (builder.isIdle(step)) builder.finish(step, "cancelled", `${reason} failed, which stops the run`);
  }
}

function finishOrPause(builder: DecisionBuilder, late: readonly string[]): void {
  const { state, context } = builder;
  const lacking = uncopied(state);
  if (builder.index.openSteps === 0 && lacking.length === 0) return finishRun(builder);
  if (builder.wakeAt !== null || state.status !== "running") return;
  builder.refuseWaiting();
  if (builder.events.length > 0) return;
  const stuck = context.order.map(({ path }) => state.steps[path]!).find(({ status }) => status === "unresolved");
  if (stuck !== undefined) return builder.pauseNow("unresolved", unresolvedText(state, stuck));
  const unbilled = context.order.map(({ path }) => unbilledBefore(state, path)).find((path) => path !== null);
  if (unbilled != null) {
    const ended = state.steps[unbilled]!.status === "failed" ? "failed" : "finished before a step failed";
    const problem = `${unbilled} ${ended}, and it is not yet known whether it was charged, so no new job is submitted to replace it`;
    return builder.pauseNow("unresolved", `${problem}. Check again for free: showrunner resume ${state.runId}`);
  }
  const [first, ...others] = undecided(builder);
  if (first === undefined) {
    if (lacking.length > 0) return builder.pauseNow("files", lackText(state, lacking));
    return late.length === 0 ? undefined : endWaiting(builder, late);
  }
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const asks = first.message === null ? "" : ` (${JSON.stringify(first.message)})`;
  builder.pauseNow(
    "approval",
    `Waiting for a decision on ${first.path}${more}${asks}.${mayBeLost(state)} Review and decide: showrunner approve ${state.runId}`,
  );
}

/** If the step at `path` must wait for the bill of a step in another option, returns that step; otherwise null. */
function unbilledBefore(state: RunState, path: string): string | null {
  const gate = secondGate(state, path);
  return gate?.is === "open" ? gate.unbilled : null;
}

function mayBeLost(state: RunState): string {
  const [first, ...others] = expiring(state).filter(({ copied, neededBy }) => !copied && neededBy.length > 0);
  if (first === undefined) return "";
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return ` The service keeps the only copy of output ${first.index} of ${first.step}${more} until ${new Date(first.expiresAt).toISOString()}: decide before then.`;
}

function lackText({ runId }: RunState, [first, ...others]: readonly ProducedOutput[]): string {
  const { step, output } = first!;
  const what = `${step}: output ${output.index} was not downloaded`;
  const why = output.uncopied === undefined ? "" : ` (${output.uncopied})`;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const until = output.expiresAt === undefined ? "" : ` until ${new Date(output.expiresAt).toISOString()}`;
  const kept = output.phase === "lapsed" ? "The service may delete it at any time" : `The service keeps it${until}`;
  return `${what}${why}${more}. ${kept}. To try again for free, run: showrunner resume ${runId}`;
}

function finishRun(builder: DecisionBuilder): void {
  const last = runOutcome(builder.state);
  if (builder.dueOrWake("place") && last.toPlace.length > 0) return builder.issue({ type: "place" });
  if (builder.wakeAt !== null) return;
  if (builder.state.status === "paused") builder.events.push({ type: "run.resumed" });
  else builder.events.push({ type: "run.finished", status: last.status, message: last.message });
}
