import type { RunEvent, RunPlanned } from "../../journal/events.ts";
import { apply, newRun } from "../../journal/fold.ts";
import { isStepFinal, type RunState, type StepState } from "../../journal/state.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { didYouMean } from "../../plan/suggest.ts";
import { runKind } from "../../run/kinds/index.ts";
import { gateOf, readiness } from "../../run/readiness.ts";
import { cacheable, currentIdentity, isCacheable, requestIdentity } from "../../run/request-identity.ts";
import { readerOf, resolvedSoFar } from "../../run/resolve.ts";
import { InvalidOptionError } from "../errors.ts";
import { type CachedResult, type CacheMiss, keysReusedBy, type ResultCache } from "./result-cache.ts";

/** Why a step is, or is not, reused from an earlier run. */
export interface StepExplanation {
  readonly step: string;
  /**
   * `reused`: its result comes (or would come) from an earlier run. `executed`: it ran (or would run). `unknown`: what it consumes does not
   * exist yet, so it is undecided.
   */
  readonly verdict: "reused" | "executed" | "unknown";
  /** Where it was produced; null unless `reused`. */
  readonly from: { readonly runId: string; readonly step: string } | null;
  /** One sentence: `no earlier run of this account has an identical request`. */
  readonly why: string;
}

const NOT_IDENTICAL = "no earlier run of this account has an identical request";
const WHY_MISSED: Readonly<Record<CacheMiss, string>> = {
  expired: "an earlier run has an identical result, but it expired at the service and no copy is left",
  "already-reused": "an earlier run has an identical result, and another step of this run reuses it already",
};

/** Of a step in a plan that is not run yet: what a run with reuse would do. */
export async function explainPlanned(cache: ResultCache, plan: Plan, path: string): Promise<StepExplanation> {
  return explainPreview(requiredStep(plan, path), await previewReuse(plan, cache));
}

/** Likewise, with a preview of the whole plan. */
export function explainPreview(planned: PlanStep, { state, reused, unusable }: ReusePreview): StepExplanation {
  const { path } = planned;
  const step = cacheable(planned);
  if ("never" in step) return executed(path, step.never);
  const found = reused.get(path);
  if (found !== undefined) return reusedFrom(path, found.from);
  const { status, reason } = state.steps[path]!;
  if (status === "skipped") return undecided(path, `${path} is not run: ${reason}`);
  const miss = unusable.get(path);
  if (miss !== undefined) return executed(path, WHY_MISSED[miss]);
  if (currentIdentity(state, step) !== null) return executed(path, NOT_IDENTICAL);
  const open = step.needs.find((needed) => !isStepFinal(state.steps[needed]!.status));
  const uses = open === undefined ? "something that" : `${open}, which`;
  return undecided(path, `${path} uses ${uses} has not been produced yet`);
}

/** Of a step in a run: what became of it. */
export async function explainRun(cache: ResultCache, state: RunState, path: string): Promise<StepExplanation> {
  const planned = requiredStep(state.planned.plan, path);
  const step = state.steps[path]!;
  if (step.reusedFrom !== null) return reusedFrom(path, step.reusedFrom);
  const plan = cacheable(planned);
  if ("never" in plan) return executed(path, plan.never);
  if (step.status === "skipped") return executed(path, `${path} was not run: ${step.reason}`);
  const identity = currentIdentity(state, plan);
  if (identity === null) return undecided(path, `the inputs of ${path} have not been produced yet`);
  const { fingerprint } = identity;
  const query = { fingerprint, plan, runId: state.runId, reusedKeys: keysReusedBy(state), verify: false };
  const lookup = await cache.find(query);
  if (lookup.found !== null) return executed(path, whyNotReused(state, step, lookup.found.from));
  return executed(path, lookup.why === null ? NOT_IDENTICAL : WHY_MISSED[lookup.why]);
}

function whyNotReused(
  { planned }: RunState,
  step: StepState,
  from: { readonly runId: string; readonly step: string },
): string {
  const same = `${from.step} of run ${from.runId} has an identical request`;
  if (planned.reuse !== true) return `${same}, and this run was started without reuse`;
  if (step.rerunRequested) return `${same}, and ${step.path} was to be rerun`;
  return `${same}, but its result was not available when ${step.path} started`;
}

function reusedFrom(
  step: string,
  { runId, step: source }: { readonly runId: string; readonly step: string },
): StepExplanation {
  const why = `${source} of run ${runId} is identical, and its result still exists`;
  return { step, verdict: "reused", from: { runId, step: source }, why };
}

function executed(step: string, why: string): StepExplanation {
  return { step, verdict: "executed", from: null, why };
}

function undecided(step: string, why: string): StepExplanation {
  return { step, verdict: "unknown", from: null, why };
}

function requiredStep(plan: Plan, path: string): PlanStep {
  const step = stepNamed(plan, path);
  if (step !== undefined) return step;
  const paths = plan.steps.map((one) => one.path);
  throw new InvalidOptionError(
    "step",
    `The plan has no step ${path}; ${didYouMean(path, paths) ?? `it has ${paths.length}`}.`,
  );
}

/** The results that a run of a plan would reuse, as far as that is certain before its start. */
export interface ReusePreview {
  /** The state of the run after all that costs nothing: files exist, reused steps are finished. */
  readonly state: RunState;
  readonly reused: ReadonlyMap<string, CachedResult>;
  /** Why a step with an identical earlier request is not reused. */
  readonly unusable: ReadonlyMap<string, CacheMiss>;
  /** What a reference would be resolved to; undefined where that is not there yet. */
  resolved(ref: Reference["$ref"]): Json | undefined;
}

/** Simulates the plan without side effects. `again`: steps that run whatever the cache holds. */
export async function previewReuse(
  plan: Plan,
  cache: ResultCache,
  again: ReadonlySet<string> = new Set(),
): Promise<ReusePreview> {
  const state = newRun("(preview)", simulatedRun(plan), 0);
  applyAll(state, [{ type: "run.started" }]);
  const reused = new Map<string, CachedResult>();
  const unusable = new Map<string, CacheMiss>();
  const reusedKeys = new Set<string>();
  for (const step of plan.steps) {
    const events = freeEvents(state, step);
    applyAll(state, events);
    if (events.length > 0 || !isCacheable(step) || again.has(step.path)) continue;
    const ready = readiness(state, step, step.input, readerOf(step));
    if (ready.ready === "never") applyAll(state, [skipped(step.path, ready)]);
    if (ready.ready !== "yes") continue;
    const { fingerprint } = requestIdentity(state, step, ready.input);
    const lookup = await cache.find({ fingerprint, plan: step, runId: null, reusedKeys, verify: false });
    if (lookup.found === null) {
      if (lookup.why !== null) unusable.set(step.path, lookup.why);
      continue;
    }
    reused.set(step.path, lookup.found);
    applyAll(state, succeeded(step.path, [{ type: "step.reused", step: step.path, ...lookup.found }]));
  }
  const resolved = (ref: Reference["$ref"]) => resolvedSoFar(state, ref)?.value;
  return { state, reused, unusable, resolved };
}

/** What happens to a step for free: it is left out by its condition, a file is there, a choice is made. */
function freeEvents(state: RunState, step: PlanStep): readonly RunEvent[] {
  const gate = gateOf(state, step);
  if (gate?.ready === "no") return [];
  if (gate?.ready === "never") return [skipped(step.path, gate)];
  const events = runKind(step.kind).foreseen(step, state);
  return events === null ? [] : succeeded(step.path, events);
}

function succeeded(step: string, events: readonly RunEvent[]): readonly RunEvent[] {
  return [
    { type: "step.started", step },
    ...events,
    { type: "step.finished", step, status: "succeeded", reason: null },
  ];
}

function skipped(
  step: string,
  { reason, skippedByCondition }: { readonly reason: string; readonly skippedByCondition: boolean },
): RunEvent {
  const finished = { type: "step.finished", step, status: "skipped", reason } as const;
  return skippedByCondition ? { ...finished, skippedByCondition: true } : finished;
}

function applyAll(state: RunState, events: readonly RunEvent[]): void {
  for (const event of events) apply(state, { runId: state.runId, seq: state.seq + 1, at: 0, version: 1, event });
}

function simulatedRun(plan: Plan): RunPlanned {
  return {
    type: "run.planned",
    plan,
    input: null,
    baseUrl: "",
    keyId: "",
    nonce: "",
    outDir: "",
    source: null,
    budgetMicros: null,
    maxUnquotedMicros: null,
    quoteMicros: null,
    limits: { total: 1, perModel: {}, perModality: {} },
  };
}
