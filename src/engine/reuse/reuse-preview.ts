import type { RunEvent, RunPlanned } from "../../journal/events.ts";
import { apply, newRun } from "../../journal/fold.ts";
import { isStepFinal, type RunState } from "../../journal/state.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { runKind } from "../../run/kinds/index.ts";
import { gateOf, readiness } from "../../run/readiness.ts";
import { isCacheable, requestIdentity } from "../../run/request-identity.ts";
import { missingReason, readerOf, resolveReference } from "../../run/resolve.ts";
import type { CachedResult, CacheMiss, ResultCache } from "./result-cache.ts";

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
  const state = newRun("(outlook)", imagined(plan), 0);
  apply(state, { runId: state.runId, seq: 1, at: 0, version: 1, event: { type: "run.started" } });
  const reused = new Map<string, CachedResult>();
  const unusable = new Map<string, CacheMiss>();
  const claimed = new Set<string>();
  for (const step of plan.steps) {
    const events = freeEvents(state, step);
    take(state, events);
    if (events.length > 0 || !isCacheable(step) || again.has(step.path)) continue;
    const ready = readiness(state, step, step.input, readerOf(step));
    if (ready.ready === "never")
      take(state, [{ type: "step.finished", step: step.path, status: "skipped", ...because(ready) }]);
    if (ready.ready !== "yes") continue;
    const { fingerprint } = requestIdentity(state, step, ready.input);
    const looked = await cache.find({ fingerprint, plan: step, runId: null, claimed, verify: false });
    if (looked.found === null) {
      if (looked.why !== null) unusable.set(step.path, looked.why);
      continue;
    }
    reused.set(step.path, looked.found);
    take(state, through(step.path, [{ type: "step.reused", step: step.path, ...looked.found }]));
  }
  const resolved = (ref: Reference["$ref"]) => {
    const source = state.steps[ref.step];
    if (source === undefined || !isStepFinal(source.status) || missingReason(state, ref) !== null) return undefined;
    return resolveReference(state, ref, "service");
  };
  return { state, reused, unusable, resolved };
}

/** What happens to a step for free: it is left out by its condition, a file is there, a choice is made. */
function freeEvents(state: RunState, step: PlanStep): readonly RunEvent[] {
  const { path } = step;
  const gate = gateOf(state, step);
  if (gate?.ready === "no") return [];
  if (gate?.ready === "never") return [{ type: "step.finished", step: path, status: "skipped", ...because(gate) }];
  const events = runKind(step.kind).foreseen(step, state);
  return events === null ? [] : through(path, events);
}

function through(step: string, events: readonly RunEvent[]): readonly RunEvent[] {
  return [
    { type: "step.started", step },
    ...events,
    { type: "step.finished", step, status: "succeeded", reason: null },
  ];
}

function because({ reason, skippedByCondition }: { readonly reason: string; readonly skippedByCondition: boolean }) {
  return { reason, ...(skippedByCondition && { skippedByCondition: true as const }) };
}

function take(state: RunState, events: readonly RunEvent[]): void {
  for (const event of events) apply(state, { runId: state.runId, seq: state.seq + 1, at: 0, version: 1, event });
}

function imagined(plan: Plan): RunPlanned {
  return {
    type: "run.planned",
    ...{ plan, input: null, baseUrl: "", keyId: "", nonce: "", outDir: "", source: null },
    ...{ budgetMicros: null, maxUnquotedMicros: null, quoteMicros: null },
    limits: { total: 1, perModel: {}, perModality: {} },
  };
}
