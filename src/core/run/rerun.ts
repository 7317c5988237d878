import type { RunEvent } from "../journal/events.ts";
import { isRunFinal, lastAttempt, type RunState, type StepState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { expansionsIn, outerPaths, withDependents } from "../plan/index.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { endedWithoutResult, neededSteps } from "./pruning.ts";
import { toleratesFailure } from "./readiness.ts";
import { failureBehind, stopsRun } from "./stops-run.ts";

/** Steps that are to be made again whatever they use, each with why. */
export type RerunRoots = ReadonlyMap<string, string>;

/**
 * Which steps are made again, in plan order: the roots and all that use them, those of former expansions included; and
 * the steps that were pruned and are wanted again.
 */
export function staleSteps(state: RunState, plan: Plan, roots: RerunRoots): readonly string[] {
  if (roots.size === 0 && !plan.steps.some(({ path }) => state.steps[path]?.pruned === true)) return [];
  const inPlan = new Set(plan.steps.map(({ path }) => path));
  const formerly = state.removedSteps.filter(
    ({ path }) => !inPlan.has(path) && outerPaths(path).some((outer) => inPlan.has(outer)),
  );
  const steps = [...plan.steps, ...formerly];
  const stale = new Set(withDependents(steps, roots.keys()));
  const revived = neededAgain(state, plan, stale);
  for (const path of withDependents(steps, revived)) {
    if (revived.includes(path) || !endedWithoutResult(state, path)) stale.add(path);
  }
  return steps.map(({ path }) => path).filter((path) => stale.has(path));
}

/**
 * What resets these steps, once the plan is the one that they are of. What was never begun needs none. The steps of an
 * expansion come before it, since it may let go of them.
 */
export function resetEvents(
  state: RunState,
  plan: Plan,
  stale: readonly string[],
  roots: RerunRoots,
): readonly RunEvent[] {
  const isStale = new Set(stale);
  const stepAt = new Map([...state.removedSteps, ...plan.steps].map((step) => [step.path, step]));
  const expansionPaths = expansionsIn([...stepAt.values()]);
  const isExpansion = (path: string) => expansionPaths.has(path);
  const expansions = stale.filter(isExpansion).toSorted((a, b) => b.split("/").length - a.split("/").length);
  const ordered = [...stale.filter((path) => !isExpansion(path)), ...expansions];
  return ordered.flatMap((path): readonly RunEvent[] => {
    const step = state.steps[path];
    const planned = stepAt.get(path);
    if (step === undefined || planned === undefined || !hasBegun(step)) return [];
    const why = roots.get(path);
    if (why !== undefined) return [{ type: "step.reset", step: path, why }];
    if (step.pruned) return [{ type: "step.reset", step: path, why: "needed again", onlyIfInputsChanged: true }];
    const used = planned.needs.find((needed) => isStale.has(needed));
    const inner = used ?? stale.find((stalePath) => outerPaths(stalePath).includes(path))!;
    const keepsExpansion = isExpansion(path) && used === undefined && step.expanded !== null;
    return [
      {
        type: "step.reset",
        step: path,
        why: `${inner} runs again`,
        ...(keepsExpansion ? { keepsExpansion: true as const } : { onlyIfInputsChanged: true as const }),
      },
    ];
  });
}

/** Pruned steps that a root can come of again once these are made again. */
function neededAgain(state: RunState, plan: Plan, stale: ReadonlySet<string>): readonly string[] {
  const pruned = plan.steps.map(({ path }) => path).filter((path) => state.steps[path]?.pruned === true);
  if (pruned.length === 0) return [];
  const out = new Set<string>();
  // Every step comes after those it needs, so that what is out is known when it is asked for.
  for (const step of plan.steps) {
    const { path, needs } = step;
    const isOpen = stale.has(path) || state.steps[path]?.pruned === true;
    const isStopped = !toleratesFailure(step) && needs.some((needed) => out.has(needed));
    if (isOpen ? isStopped : endedWithoutResult(state, path)) out.add(path);
  }
  const needed = neededSteps(state, plan, (path) => out.has(path));
  return pruned.filter((path) => !stale.has(path) && needed.has(path));
}

/** Whether anything happened to it that a fresh step does not have. */
function hasBegun(step: StepState): boolean {
  const { attempts, chats, superseded } = step;
  return step.status !== "waiting" || attempts.length + chats.length > superseded || step.expanded !== null;
}

/** Whether nothing of a step is at the service, nor its outcome there unknown. `paid`: its bill is known too. */
export function hasNoOpenJobs(step: StepState, { paid = false }: { readonly paid?: boolean } = {}): boolean {
  if (step.status === "unresolved" || step.chats.at(-1)?.phase === "sent") return false;
  return step.attempts.every(({ phase, money }) => {
    return !jobPhases.open.has(phase) && !(paid && money === "held");
  });
}

/** What sets a run going again that is over or is idle. */
export function resumeEvents(state: RunState): {
  readonly before: readonly RunEvent[];
  readonly after: readonly RunEvent[];
} {
  if (isRunFinal(state.status)) return { before: [{ type: "run.reopened" }], after: [] };
  return { before: [], after: state.status === "paused" ? [{ type: "run.resumed" }] : [] };
}

/** A failed step that would stop the run again at once, although others are to be made again. */
export function blockingFailure(state: RunState, plan: Plan, stale: readonly string[]): PlanStep | null {
  const isStale = new Set(stale);
  const stop = plan.steps.find((step) => !isStale.has(step.path) && stopsRun(state.steps, plan, step));
  return stop === undefined ? null : failureBehind(state.steps, plan, stop);
}

/** Steps that were not made only because a failure stopped the run. */
export function cancelledSteps(state: RunState, plan: Plan): readonly string[] {
  return plan.steps.map(({ path }) => path).filter((path) => state.steps[path]?.status === "cancelled");
}

/** The attempt of a reset step that would count again; null when there is none. */
export function restorableAttempt(step: StepState) {
  const attempt = step.attempts[step.superseded - 1];
  const isBegun = (lastAttempt(step)?.key ?? null) !== null;
  return step.onlyIfInputsChanged && !isBegun && attempt?.phase === "completed" ? attempt : null;
}
