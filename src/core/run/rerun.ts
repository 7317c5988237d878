import { apply, EVENT_VERSION, type PriceBasis, type RunEvent } from "../journal/events.ts";
import {
  isRunFinal,
  lastAttempt,
  outputsOf,
  ownAttempts,
  type Quoted,
  type RunState,
  type StepState,
  wasSent,
} from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { expansionsIn, outerPaths, traitsOf, withDependents, withSeeds } from "../plan/index.ts";
import { type Json, type Plan, type PlanStep, stepNamed } from "../plan/plan.ts";
import { endedWithoutResult, failureBehind, neededSteps, stopsRun } from "./pruning.ts";
import { toleratesFailure } from "./readiness.ts";

export type RerunRoots = ReadonlyMap<string, string>;

/**
 * Returns the steps that must run again: the roots, the steps that depend on them, and pruned steps that are needed
 * again.
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
 * Returns the events that reset the steps. The steps of an expansion are reset before the expansion, because resetting
 * the expansion may remove them.
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

function neededAgain(state: RunState, plan: Plan, stale: ReadonlySet<string>): readonly string[] {
  const pruned = plan.steps.map(({ path }) => path).filter((path) => state.steps[path]?.pruned === true);
  if (pruned.length === 0) return [];
  const out = new Set<string>();
  // A plan lists each step after the steps that it needs, so one pass is enough.
  for (const step of plan.steps) {
    const { path, needs } = step;
    const isOpen = stale.has(path) || state.steps[path]?.pruned === true;
    const isStopped = !toleratesFailure(step) && needs.some((needed) => out.has(needed));
    if (isOpen ? isStopped : endedWithoutResult(state, path)) out.add(path);
  }
  const needed = neededSteps(state, plan, (path) => out.has(path));
  return pruned.filter((path) => !stale.has(path) && needed.has(path));
}

function hasBegun(step: StepState): boolean {
  return step.status !== "waiting" || lastAttempt(step) !== null || step.expanded !== null;
}

export function hasNoOpenJobs(step: StepState, { paid = false }: { readonly paid?: boolean } = {}): boolean {
  if (step.status === "unresolved") return false;
  return step.attempts.every(({ phase, money }) => {
    return !jobPhases.open.has(phase) && !(paid && money === "held");
  });
}

export function resumeEvents(state: RunState): {
  readonly before: readonly RunEvent[];
  readonly after: readonly RunEvent[];
} {
  if (isRunFinal(state.status)) return { before: [{ type: "run.reopened" }], after: [] };
  return { before: [], after: state.status === "paused" ? [{ type: "run.resumed" }] : [] };
}

export function blockingFailure(state: RunState, plan: Plan, stale: readonly string[]): PlanStep | null {
  const isStale = new Set(stale);
  const stop = plan.steps.find((step) => !isStale.has(step.path) && stopsRun(state.steps, plan, step));
  return stop === undefined ? null : failureBehind(state.steps, plan, stop);
}

export function cancelledSteps(state: RunState, plan: Plan): readonly string[] {
  return plan.steps.map(({ path }) => path).filter((path) => state.steps[path]?.status === "cancelled");
}

export function restorableAttempt(step: StepState) {
  const attempt = step.attempts[step.superseded - 1];
  const isBegun = ownAttempts(step).some(wasSent);
  return step.onlyIfInputsChanged && !isBegun && attempt?.phase === "completed" ? attempt : null;
}

export interface NewSeed {
  readonly step: string;
  readonly before: number;
  readonly after: number;
}

export interface RerunSeeds {
  readonly seeds: readonly NewSeed[];
  /** Steps whose seed is fixed in the code, so a rerun would repeat the same request. */
  readonly sameSeed: readonly { readonly step: string; readonly seed: number }[];
  readonly plan: Plan;
}

/**
 * Chooses new seeds for those of `steps` that have a seed and a result. `stale` lists all steps that will run again.
 */
export function rerunSeeds(
  state: RunState,
  plan: Plan,
  steps: readonly string[],
  stale: readonly string[],
): RerunSeeds {
  const asked = new Set<number>();
  const isStale = new Set(stale);
  const seeds: NewSeed[] = [];
  const sameSeed: { readonly step: string; readonly seed: number }[] = [];
  for (const { attempts } of Object.values(state.steps)) for (const { input } of attempts) note(asked, input);
  for (const step of plan.steps) if ("model" in step) note(asked, step.input);
  for (const path of steps) {
    const step = stepNamed(plan, path);
    const before = step !== undefined && "model" in step ? seedIn(step.input) : null;
    if (step === undefined || before === null || !hasResult(state, path)) continue;
    const most = traitsOf(step).submits?.mostSeed;
    if (most !== undefined) {
      const after = nextSeed(before, (state.steps[path]?.attempts.length ?? 0) + 1, most, asked);
      asked.add(after);
      seeds.push({ step: path, before, after });
    } else if (!step.needs.some((needed) => isStale.has(needed))) sameSeed.push({ step: path, seed: before });
  }
  return { seeds, sameSeed, plan: withSeeds(plan, seedsByStep(seeds)) };
}

export function seedsByStep(seeds: readonly NewSeed[]): { readonly [step: string]: number } {
  return Object.fromEntries(seeds.map(({ step, after }) => [step, after]));
}

/** Returns an unused seed far from `before`. Nearby seeds may belong to other takes, which use consecutive seeds. */
function nextSeed(before: number, attempt: number, most: number, asked: ReadonlySet<number>): number {
  const start = (before + attempt * 1_000_003) % (most + 1);
  for (let seed = start; seed < start + asked.size + 1; seed += 1) {
    if (!asked.has(seed % (most + 1))) return seed % (most + 1);
  }
  return start;
}

function hasResult(state: RunState, path: string): boolean {
  const step = state.steps[path];
  return (
    step?.status === "succeeded" && (step.value !== null || outputsOf(step).some(({ phase }) => phase !== "expired"))
  );
}

function seedIn(input: Json): number | null {
  if (typeof input !== "object" || input === null || !("seed" in input)) return null;
  return typeof input.seed === "number" ? input.seed : null;
}

function note(asked: Set<number>, input: Json): void {
  const seed = seedIn(input);
  if (seed !== null) asked.add(seed);
}

type Replanned = RunEvent & { readonly type: "run.replanned" };

export interface RequestedRerun {
  readonly requestId: string;
  readonly steps: readonly string[];
  readonly note?: string;
  readonly seeds?: { readonly [step: string]: number };
  readonly quoteMicros?: number | null;
}

export interface Revised {
  readonly replanned: Omit<Replanned, "type"> | null;
  readonly request: RequestedRerun | null;
  readonly roots: RerunRoots;
  readonly prices: readonly Price[];
}

interface Price extends Pick<Quoted, "costMicros" | "conditionalOn"> {
  readonly step: string;
  readonly basis: PriceBasis | "free" | "reused";
}

export function quotedEvents({ step, costMicros, basis, conditionalOn }: Price, attempt: number): readonly RunEvent[] {
  if (basis === "free" || basis === "reused") return [];
  const conditional = conditionalOn !== undefined && { conditionalOn };
  return [{ type: "job.quoted", step, attempt, costMicros, basis, ...conditional }];
}

export function revisionEvents(state: RunState, { replanned, request, roots, prices }: Revised): readonly RunEvent[] {
  const foreseen = new Foreseen(state);
  const { before, after } = resumeEvents(state);
  foreseen.add(before);
  if (replanned !== null) foreseen.add([{ type: "run.replanned", ...replanned }]);
  if (request !== null) foreseen.add([{ type: "rerun.requested", ...request }]);
  const { plan } = foreseen.state.planned;
  foreseen.add(resetEvents(foreseen.state, plan, staleSteps(foreseen.state, plan, roots), roots));
  foreseen.add(priceEvents(foreseen.state, prices));
  return [...foreseen.events, ...after];
}

class Foreseen {
  readonly state: RunState;
  readonly events: RunEvent[] = [];

  constructor(state: RunState) {
    this.state = structuredClone(state);
  }

  add(events: readonly RunEvent[]): void {
    const { state } = this;
    for (const event of events) {
      apply(state, { runId: state.runId, seq: state.seq + 1, at: 0, version: EVENT_VERSION, event });
      this.events.push(event);
    }
  }
}

function priceEvents({ steps, planned }: RunState, prices: Revised["prices"]): readonly RunEvent[] {
  const quoted = new Set(
    planned.plan.steps.filter((step) => traitsOf(step).pricing.by === "quote").map(({ path }) => path),
  );
  return prices.flatMap((price): readonly RunEvent[] => {
    const step = steps[price.step];
    if (step === undefined || step.status !== "waiting" || lastAttempt(step) !== null) return [];
    return quoted.has(price.step) ? quotedEvents(price, step.attempts.length + 1) : [];
  });
}
