import type { RunEvent, RunPlanned } from "../../journal/events.ts";
import { apply, newRun } from "../../journal/fold.ts";
import { isStepFinal, type RunState } from "../../journal/state.ts";
import { ownVersion } from "../../kit/own-version.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { runKind } from "../../run/kinds/index.ts";
import { gateOf, readiness } from "../../run/readiness.ts";
import { type CacheableStep, currentIdentity, isCacheable, requestIdentity } from "../../run/request-identity.ts";
import { readerOf, resolvedSoFar } from "../../run/resolve.ts";
import type { CachedResult, CacheMiss, ResultCache } from "./result-cache.ts";

const NOT_IDENTICAL = "no earlier run on this account made an identical request";
const WHY_MISSED: Readonly<Record<CacheMiss, string>> = {
  expired: "an earlier run has an identical result, but it expired on the service and no copy is left",
  "already-reused": "an earlier run has an identical result, but another step of this run already reuses it",
};

export function whyAnew(step: CacheableStep, { state, unusable }: ReusePreview): string {
  const { path, needs } = step;
  const { status, reason } = state.steps[path]!;
  if (status === "skipped") return `${path} is skipped: ${reason}`;
  const miss = unusable.get(path);
  if (miss !== undefined) return WHY_MISSED[miss];
  if (currentIdentity(state, step) !== null) return NOT_IDENTICAL;
  const open = needs.find((needed) => !isStepFinal(state.steps[needed]!.status));
  return `${path} uses ${open ?? "another result"}, which has not been produced yet`;
}

export interface ReusePreview {
  readonly state: RunState;
  readonly reused: ReadonlyMap<string, CachedResult>;
  readonly unusable: ReadonlyMap<string, CacheMiss>;
  resolved(ref: Reference["$ref"]): Json | undefined;
}

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

function freeEvents(state: RunState, step: PlanStep): readonly RunEvent[] {
  const gate = gateOf(state, step);
  if (gate?.ready === "no") return [];
  if (gate?.ready === "never") return [skipped(step.path, gate)];
  const events = runKind(step.kind).freeResult(step, state);
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
    program: ownVersion(),
    budgetMicros: null,
    maxUnquotedMicros: null,
    quoteMicros: null,
    limits: { total: 1, perModel: {}, perModality: {} },
  };
}
