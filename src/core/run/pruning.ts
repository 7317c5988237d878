import type TinyQueue from "tinyqueue";
import { type AttemptState, isStepFinal, type RunState, type StepState, thrownBy } from "../journal/state.ts";
import { stepStates } from "../lifecycle/index.ts";
import { hasNext, isSecondChoice, optionsAround, optionsIn, traitsOf } from "../plan/index.ts";
import { failurePolicyOf, type Plan, type PlanStep, type Reference, stepNamed } from "../plan/plan.ts";
import { returnedReferences } from "./returned.ts";

const MOST_REASONS = 3;

export function firstReasons(reasons: readonly string[]): string {
  const more = reasons.length - MOST_REASONS;
  return reasons.slice(0, MOST_REASONS).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

export function whyPruned(state: RunState, path: string, usersOf: (path: string) => Iterable<string>): string {
  const open = new Set([path]);
  for (const unused of open) {
    for (const user of usersOf(unused)) {
      const { status, reason, pruned } = state.steps[user]!;
      if (isStepFinal(status) && !pruned)
        return `no longer needed: ${user} ${status === "failed" ? "" : "was "}${status} (${reason})`;
      open.add(user);
    }
  }
  return "no longer needed";
}

export function neededSteps(state: RunState, plan: Plan, isOut: (path: string) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (path: string) => void (isOut(path) || found.add(path));
  for (const path of rootsOf(state, plan)) add(path);
  for (const path of found) {
    const step = stepNamed(plan, path);
    if (step !== undefined) for (const used of usedBy(state, step)) add(used);
  }
  return found;
}

export function endedWithoutResult({ steps }: RunState, path: string): boolean {
  const status = steps[path]?.status;
  return status !== undefined && stepStates.withoutResult.has(status);
}

function rootsOf(state: RunState, plan: Plan): Iterable<string> {
  const used = new Set(plan.steps.flatMap((step) => usedBy(state, step)));
  const loose = plan.steps.filter((step) => !used.has(step.path) || isNeverPruned(step));
  return [...returnedReferences(plan.returns).map(({ ref }) => ref.step), ...loose.map(({ path }) => path)];
}

export function isNeverPruned(step: PlanStep): boolean {
  return "policy" in step && step.policy.prune === false;
}

export function usedBy({ steps }: RunState, { path, needs }: PlanStep): readonly string[] {
  const expanded = steps[path]?.expanded ?? null;
  return expanded === null ? needs : [...needs, ...expanded.map(({ $ref }) => $ref.step)];
}

const deciding = new WeakMap<Plan, ReadonlySet<string>>();

/** Returns the steps whose result may decide whether other steps run. */
export function decidingSteps(plan: Plan): ReadonlySet<string> {
  const before = deciding.get(plan);
  if (before !== undefined) return before;
  const found = new Set<string>();
  for (const step of plan.steps) {
    if (traitsOf(step).expansion !== null) found.add(step.path);
    if (step.when !== undefined) found.add("failed" in step.when ? step.when.failed : step.when.ref.step);
    for (const { as, step: used } of traitsOf(step).uses) if (as === "value") found.add(used);
  }
  for (const option of optionsIn(plan).values()) {
    if (hasNext(option)) for (const { path } of option.steps) found.add(path);
  }
  deciding.set(plan, found);
  return found;
}

export function conditionsOf({ needs }: PlanStep, attempt: AttemptState | null): readonly string[] {
  const paths = attempt?.phase === "priced" ? (attempt.quote?.conditionalOn ?? NONE) : NONE;
  return paths.length === 0 ? NONE : paths.filter((path) => needs.includes(path));
}

const NONE: readonly string[] = [];

/**
 * Returns whether the step must wait because its result may never be used. This is the case if every requested result
 * that needs the step also depends on a job whose model may still refuse its input media.
 */
export function isHeldBack(node: StepNode, nodes: ReadonlyMap<string, StepNode>, state: RunState): boolean {
  const found = new Set([node]);
  for (const { path, readers } of found) {
    for (const reader of readers) {
      if (!reader.isNeeded || !usedBy(state, reader.plan).includes(path)) continue;
      if (reader.conditions.includes(path)) return false;
      found.add(reader);
    }
  }
  return [...found].every((root) => !root.isRoot || hasConditions(root, nodes, state));
}

function hasConditions(node: StepNode, nodes: ReadonlyMap<string, StepNode>, state: RunState): boolean {
  const found = new Set([node]);
  for (const { conditions, plan } of found) {
    if (conditions.length > 0) return true;
    for (const path of usedBy(state, plan)) {
      const used = nodes.get(path);
      if (used !== undefined && !used.isFinal) found.add(used);
    }
  }
  return false;
}

type Steps = RunState["steps"];

export function stopsRun(steps: Steps, plan: Plan, step: PlanStep): boolean {
  const ended = steps[step.path];
  if (ended === undefined || failureBehind(steps, plan, step) === null) return false;
  return failurePolicyOf(plan, step) === "failFast" && !hasSubstitute(plan, step, ended);
}

export function failureBehind(steps: Steps, plan: Plan, step: PlanStep): PlanStep | null {
  const { status, skippedByCondition, pruned } = steps[step.path]!;
  if (status === "failed") return step;
  if (status !== "skipped" || skippedByCondition || pruned) return null;
  const parts = isSecondChoice(step) ? step.second.options : partsOf(step);
  return plan.steps.find(({ path }) => steps[path]?.status === "failed" && isWithin(path, parts)) ?? null;
}

function hasSubstitute(plan: Plan, step: PlanStep, ended: StepState): boolean {
  if (optionsAround(plan, step.path).some(hasNext)) return true;
  const code = thrownBy(ended)?.code;
  const isAwaited = ({ when }: PlanStep) =>
    when !== undefined && "failed" in when && when.failed === step.path && (when.code ?? code) === code;
  return plan.steps.some((other) => isWithin(step.path, partsOf(other)) || (!("policy" in step) && isAwaited(other)));
}

function partsOf(step: PlanStep): readonly string[] {
  return traitsOf(step).decision?.parts ?? [];
}

function isWithin(path: string, parts: readonly string[]): boolean {
  return parts.some((part) => path.startsWith(`${part}/`));
}

export class StepNode {
  readonly plan: PlanStep;
  readonly isRemoved: boolean;
  readers: StepNode[] = [];
  reads: Reference["$ref"][] = [];
  /** Number of unfinished steps that this step needs, including the inner steps of an expansion. */
  openSources = 0;
  /** Number of needed steps that use this step, plus one if `isRoot` is true. */
  users = 0;
  /** True if the step's result is needed even if no other step uses it. */
  isRoot = false;
  isNeeded = true;
  isFinal = false;
  conditions: readonly string[] = [];
  holdsSlot = false;
  committedMicros = 0;
  rank = 0;
  isDue = false;
  dueAt: number | null = null;
  queue: TinyQueue<StepNode> | null = null;

  constructor(plan: PlanStep, isRemoved: boolean) {
    this.plan = plan;
    this.isRemoved = isRemoved;
  }

  get path(): string {
    return this.plan.path;
  }
}
