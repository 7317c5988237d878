import {
  type AttemptState,
  committedOn,
  isStepFinal,
  lastAttempt,
  type RunState,
  type StepState,
} from "../journal/state.ts";
import { jobPhases, stepStates } from "../lifecycle/index.ts";
import { expansionsIn, optionsAround, optionsIn, outerPaths, traitsOf } from "../plan/index.ts";
import type { PlanStep, Reference } from "../plan/plan.ts";
import { Slots } from "../plan/slots.ts";
import { isOverdue, wasLate } from "./open-jobs.ts";
import { conditionsOf, isHeldBack, isNeverPruned, StepNode, stopsRun, usedBy } from "./pruning.ts";
import { quorumOf } from "./readiness.ts";
import { missingReason, referenced } from "./resolve.ts";
import { returnedReferences } from "./returned.ts";

type Ref = Reference["$ref"];

/** Indexes a run's steps for the scheduler. An event updates only the entries that it affects. */
export class RunIndex {
  readonly nodes = new Map<string, StepNode>();
  readonly slots: Slots;
  readonly holding = new Set<string>();
  /**
   * Steps that exceeded their time limit. A step is removed once it and all choices that it is an option of have ended.
   */
  readonly late = new Set<string>();
  readonly #stopping = new Set<StepNode>();
  openSteps = 0;
  #conditional = 0;
  readonly #heldBack = new Set<StepNode>();
  readonly #state: RunState;
  readonly #resolvers = new Map<string, readonly StepNode[]>();
  readonly #groupMicros = new Map<string, number>();
  readonly #touch: (node: StepNode) => void;

  constructor(state: RunState, touch: (node: StepNode) => void) {
    this.#state = state;
    this.#touch = touch;
    this.slots = new Slots(state.planned.limits);
    const { plan } = state.planned;
    for (const step of plan.steps) this.nodes.set(step.path, new StepNode(step, false));
    for (const step of state.removedSteps) {
      if (!this.nodes.has(step.path)) this.nodes.set(step.path, new StepNode(step, true));
    }
    this.openSteps = plan.steps.length;
    const expansions = expansionsIn(plan.steps);
    for (const step of plan.steps) this.#link(this.nodes.get(step.path)!, expansions);
    for (const node of this.nodes.values()) {
      // Releases the spare capacity of lists that grew.
      if (node.readers.length > 0) node.readers = node.readers.slice();
      if (node.reads.length > 0) node.reads = node.reads.slice();
    }
    for (const { ref } of returnedReferences(plan.returns)) this.#addRoot(this.nodes.get(ref.step));
    for (const node of this.nodes.values()) if (node.users === 0 || isNeverPruned(node.plan)) this.#addRoot(node);
    for (const node of this.nodes.values()) this.#count(node);
  }

  get stoppedBy(): string | null {
    let first: StepNode | null = null;
    for (const node of this.#stopping) if (first === null || node.rank < first.rank) first = node;
    return first?.path ?? null;
  }

  committedIn(prefix: string): number {
    return this.#groupMicros.get(prefix) ?? 0;
  }

  isNeeded(path: string): boolean {
    return this.nodes.get(path)?.isNeeded ?? false;
  }

  isHeldBack(path: string): boolean {
    const node = this.nodes.get(path);
    if (this.#conditional === 0 || node === undefined || !isHeldBack(node, this.nodes, this.#state)) return false;
    this.#heldBack.add(node);
    return true;
  }

  hasOpenSources(path: string): boolean {
    return this.nodes.get(path)!.openSources > 0;
  }

  usersOf(path: string): readonly string[] {
    const readers = this.nodes.get(path)?.readers ?? [];
    return readers.filter(({ plan }) => usedBy(this.#state, plan).includes(path)).map(({ plan }) => plan.path);
  }

  readersOf(path: string): readonly PlanStep[] {
    const node = this.nodes.get(path);
    const found = new Set<StepNode>();
    const sources = new Set(node === undefined ? [] : [node]);
    for (const source of sources) {
      for (const reader of source.readers) {
        found.add(reader);
        if (standsForOthers(reader.plan)) sources.add(reader);
      }
      for (const resolver of this.#resolvers.get(source.path) ?? []) sources.add(resolver);
    }
    return [...found].map(({ plan }) => plan);
  }

  update(path: string): void {
    const node = this.nodes.get(path);
    if (node === undefined) return;
    const { isFinal: wasFinal, conditions } = node;
    this.#count(node);
    this.#touch(node);
    if (conditions !== node.conditions) this.#touchHeldBack();
    if (node.isFinal && !wasFinal) for (const late of this.late) this.#countLate(late);
    if (node.isFinal || wasFinal) this.#touchReaders(node);
  }

  #link(node: StepNode, expansions: ReadonlySet<string>): void {
    const { plan } = node;
    const { uses } = traitsOf(plan);
    for (const ref of uses) this.#addRead(ref);
    for (const source of sourcesOf(plan.needs, uses)) this.#addReader(source, node);
    for (const around of expansions.size === 0 ? [] : outerPaths(plan.path)) {
      if (expansions.has(around)) this.#addReader(plan.path, this.nodes.get(around)!);
    }
    for (const { $ref } of this.#state.steps[plan.path]!.expanded ?? []) {
      this.#addRead($ref);
      if ($ref.step.startsWith(`${plan.path}/`)) continue;
      this.#resolvers.set($ref.step, [...(this.#resolvers.get($ref.step) ?? []), node]);
    }
    for (const used of usedBy(this.#state, plan)) this.#addUser(used);
  }

  #addReader(source: string, reader: StepNode): void {
    const node = this.nodes.get(source);
    if (node === undefined) return;
    node.readers.push(reader);
    if (!node.isRemoved) reader.openSources++;
  }

  #addRead(ref: Ref): void {
    const node = this.nodes.get(ref.step);
    if (node?.reads.some((known) => isSameRead(known, ref)) === false) node.reads.push(ref);
  }

  #addRoot(node: StepNode | undefined): void {
    if (node === undefined) return;
    node.isRoot = true;
    node.users++;
  }

  #addUser(path: string): void {
    const node = this.nodes.get(path);
    if (node !== undefined) node.users++;
  }

  #count(node: StepNode): void {
    const { plan } = node;
    const step = this.#state.steps[plan.path]!;
    this.#countMoney(node, step);
    if (node.isRemoved) return;
    this.#countLate(plan.path);
    const holdsSlot = isHoldingSlot(plan, step);
    if (holdsSlot && !node.holdsSlot) this.slots.take(plan);
    else if (!holdsSlot && node.holdsSlot) this.slots.release(plan);
    node.holdsSlot = holdsSlot;
    const isFinal = isStepFinal(step.status);
    this.#countConditions(node, isFinal ? null : lastAttempt(step));
    if (isFinal === node.isFinal) return;
    node.isFinal = isFinal;
    this.openSteps--;
    for (const reader of node.readers) reader.openSources--;
    if (stopsRun(this.#state.steps, this.#state.planned.plan, plan)) this.#stopping.add(node);
    if (stepStates.withoutResult.has(step.status)) this.#dropNeed(node);
  }

  #countLate(path: string): void {
    const step = this.#state.steps[path]!;
    const isOpen = isOverdue(step) || (wasLate(step) && this.#isChoiceOpen(path));
    if (isOpen) this.late.add(path);
    else this.late.delete(path);
  }

  #isChoiceOpen(path: string): boolean {
    const { steps, planned } = this.#state;
    const isOpen = (planStep: PlanStep) => !isStepFinal(steps[planStep.path]!.status);
    return optionsAround(planned.plan, path).some(({ choice }) => {
      const options = choice.second.options.flatMap((option) => optionsIn(planned.plan).get(option)!.steps);
      return isOpen(choice) || options.some(isOpen);
    });
  }

  #touchHeldBack(): void {
    for (const node of this.#heldBack) this.#touch(node);
    this.#heldBack.clear();
  }

  #countConditions(node: StepNode, attempt: AttemptState | null): void {
    const conditions = conditionsOf(node.plan, attempt);
    this.#conditional += Number(conditions.length > 0) - Number(node.conditions.length > 0);
    node.conditions = conditions;
  }

  #countMoney(node: StepNode, step: StepState): void {
    if (hasOpenHold(step)) this.holding.add(step.path);
    else this.holding.delete(step.path);
    const { groups } = this.#state.planned.plan;
    if (groups === undefined) return;
    const micros = committedOn(step);
    const more = micros - node.committedMicros;
    if (more === 0) return;
    node.committedMicros = micros;
    for (const prefix of outerPaths(step.path)) this.#groupMicros.set(prefix, this.committedIn(prefix) + more);
  }

  #dropNeed(node: StepNode): void {
    const dropped = [node];
    for (const unneeded of dropped) {
      if (!unneeded.isNeeded) continue;
      unneeded.isNeeded = false;
      this.#touch(unneeded);
      for (const path of usedBy(this.#state, unneeded.plan)) {
        const used = this.nodes.get(path);
        if (used !== undefined && --used.users === 0) dropped.push(used);
      }
    }
  }

  #touchReaders(node: StepNode): void {
    const isComplete = this.#isComplete(node);
    const seen = [node];
    let known: Set<StepNode> | null = null;
    const add = (reader: StepNode) => {
      known ??= new Set(seen);
      if (!known.has(reader)) seen.push(reader);
      known.add(reader);
    };
    for (const touched of seen) {
      for (const reader of touched.readers) {
        const { plan, openSources, isFinal } = reader;
        const isAwaited = reader.conditions.includes(touched.path);
        const isRuledOutByFailure = plan.when === undefined && quorumOf(plan) === null && !this.#isInOption(plan);
        if (isComplete && openSources > 0 && !isAwaited && isRuledOutByFailure) continue;
        this.#touch(reader);
        if (standsForOthers(plan) && (isFinal || !isComplete)) add(reader);
      }
      for (const resolver of this.#resolvers.get(touched.path) ?? []) {
        this.#touch(resolver);
        add(resolver);
      }
    }
  }

  #isInOption({ path }: PlanStep): boolean {
    return optionsAround(this.#state.planned.plan, path).length > 0;
  }

  #isComplete({ plan, reads }: StepNode): boolean {
    const state = this.#state;
    if (state.steps[plan.path]!.status !== "succeeded" || standsForOthers(plan)) return false;
    return reads.every((ref) => {
      if (missingReason(state, ref) !== null) return false;
      if (ref.output === "all") return "outputs" in plan && referenced(state, ref).length >= plan.outputs;
      return true;
    });
  }
}

function sourcesOf(needs: readonly string[], uses: readonly Ref[]): Iterable<string> {
  const isShort = needs.length <= 4 && uses.length <= 4;
  if (isShort && uses.every(({ step }) => needs.includes(step))) return needs;
  return new Set([...needs, ...uses.map(({ step }) => step)]);
}

function isSameRead(read: Ref, otherRead: Ref): boolean {
  return (
    read === otherRead ||
    (read.as === otherRead.as && read.output === otherRead.output && read.at?.join("\n") === otherRead.at?.join("\n"))
  );
}

function standsForOthers(plan: PlanStep): boolean {
  const { standsFor, expansion } = traitsOf(plan);
  return standsFor.length > 0 || expansion !== null;
}

/** Returns whether the step occupies a slot. A job on the service keeps its slot even while the run is paused. */
function isHoldingSlot(plan: PlanStep, step: StepState): boolean {
  // The run no longer waits for an overdue request, so the request must not block others.
  if (isOverdue(step)) return false;
  // A request to a provider takes a slot each time it is sent, and waits without a slot in between.
  const { provider, needsCode } = traitsOf(plan);
  const isSent = provider !== null;
  if (!isSent && needsCode && step.status === "running") return true;
  const { kind, phase, error } = lastAttempt(step) ?? {};
  if (phase === undefined || (isSent && phase === "refused" && error?.retryable === true)) return false;
  return jobPhases.inFlight.has(phase) || (kind !== "chat" && step.status === "running" && ENDS_STEP.has(phase));
}

/** Phases after which the next decision ends the step. The step keeps its slot until then. */
const ENDS_STEP: ReadonlySet<AttemptState["phase"]> = new Set(["completed", "refused", "lost"]);

function hasOpenHold(step: StepState): boolean {
  return step.attempts.some(({ money }) => money === "held");
}
