import type { RunEvent, RunPlanned } from "../../journal/events.ts";
import { apply, newRun } from "../../journal/fold.ts";
import { isStepFinal, type RunState, type StepState } from "../../journal/state.ts";
import type { StoredResult } from "../../journal/store.ts";
import { changesBetween, type FieldChange, isReference } from "../../plan/index.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { didYouMean } from "../../plan/suggest.ts";
import { runKind } from "../../run/kinds/index.ts";
import { gateOf, readiness } from "../../run/readiness.ts";
import {
  type CacheableStep,
  cacheable,
  currentIdentity,
  isCacheable,
  type RequestIdentity,
  requestIdentity,
} from "../../run/request-identity.ts";
import { missingReason, readerOf, resolveReference } from "../../run/resolve.ts";
import { InvalidOptionError } from "../errors.ts";
import { type CachedResult, type CacheMiss, type ResultCache, sourceKey } from "./result-cache.ts";

const MOST = 3;
const LONGEST = 60;

/** Changes in words: `input.name was "a", is "b"; input.seed was left out, is 7`. */
export function formatChanges(fields: readonly FieldChange[]): string {
  const said = fields.slice(0, MOST).map(({ field, before, after }) => {
    if (isMedia(before) && isMedia(after)) return `${field} is another file`;
    return `${field} was ${say(before)}, is ${say(after)}`;
  });
  const more = fields.length - said.length;
  return [...said, ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

function say(value: Json | undefined): string {
  if (value === undefined) return "left out";
  if (isReference(value)) return `the result of ${value.$ref.step}`;
  if (isMedia(value)) return "a file";
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function isMedia(value: Json | undefined): boolean {
  return typeof value === "object" && value !== null && "media" in value && Object.keys(value).length === 1;
}

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
  /** One sentence: `voice changed: input.voice_id was "voice_a", is "voice_b"`. */
  readonly why: string;
  /** The most similar earlier step and the differences; null when there is none, or nothing differs. */
  readonly nearest: {
    readonly runId: string;
    readonly step: string;
    readonly changes: readonly FieldChange[];
  } | null;
}

const GONE: Readonly<Record<CacheMiss, string>> = {
  expired: "an earlier run has an identical result, but it expired at the service and no copy is left",
  claimed: "an earlier run has an identical result, and another step of this run reuses it already",
};

/** Of a step in a plan that is not run yet: what a run with reuse would do. */
export async function explainPlanned(cache: ResultCache, plan: Plan, path: string): Promise<StepExplanation> {
  return explainForeseen(cache, known(plan, path), await previewReuse(plan, cache));
}

/** Likewise, with what is foreseen of the whole plan. */
export async function explainForeseen(
  cache: ResultCache,
  planned: PlanStep,
  { state, reused, unusable }: ReusePreview,
): Promise<StepExplanation> {
  const { path } = planned;
  const step = cacheable(planned);
  if ("never" in step) return { ...nothing(path), why: step.never };
  const found = reused.get(path);
  if (found !== undefined) return claimed(path, found.from);
  const { status, reason } = state.steps[path]!;
  if (status === "skipped") return { ...nothing(path), verdict: "unknown", why: `${path} is not run: ${reason}` };
  const why = unusable.get(path);
  if (why !== undefined) return { ...nothing(path), why: GONE[why] };
  const now = currentIdentity(state, step);
  if (now === null) {
    const open = step.needs.find((needed) => !isStepFinal(state.steps[needed]!.status));
    const uses = open === undefined ? "something that" : `${open}, which`;
    return { ...nothing(path), verdict: "unknown", why: `${path} uses ${uses} has not been produced yet` };
  }
  return nearest(cache, step, now, { runId: null, before: Number.POSITIVE_INFINITY });
}

/** Of a step in a run: what became of it. */
export async function explainRun(cache: ResultCache, state: RunState, path: string): Promise<StepExplanation> {
  const planned = known(state.planned.plan, path);
  const step = state.steps[path]!;
  if (step.reusedFrom !== null) return claimed(path, step.reusedFrom);
  const plan = cacheable(planned);
  if ("never" in plan) return { ...nothing(path), why: plan.never };
  if (step.status === "skipped") return { ...nothing(path), why: `${path} was not run: ${step.reason}` };
  const now = currentIdentity(state, plan);
  if (now === null)
    return { ...nothing(path), verdict: "unknown", why: `the inputs of ${path} have not been produced yet` };
  const others = Object.values(state.steps).flatMap(({ reusedFrom }) => (reusedFrom ? [sourceKey(reusedFrom)] : []));
  const query = { fingerprint: now.fingerprint, plan, runId: state.runId, claimed: new Set(others), verify: false };
  const lookup = await cache.find(query);
  if (lookup.found !== null) return { ...nothing(path), why: whyNotReused(state, step, lookup.found.from) };
  if (lookup.why !== null) return { ...nothing(path), why: GONE[lookup.why] };
  return nearest(cache, plan, now, { runId: state.runId, before: step.startedAt ?? Number.POSITIVE_INFINITY });
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

interface Within {
  readonly runId: string | null;
  /** Only results from before this instant. */
  readonly before: number;
}

/** The most similar earlier result. */
async function nearest(
  cache: ResultCache,
  plan: CacheableStep,
  now: RequestIdentity,
  within: Within,
): Promise<StepExplanation> {
  const candidates = await Promise.all(
    (await cache.similarResults(plan)).map((row) => compared(cache, plan, now, row, within)),
  );
  const [best] = candidates.filter((one) => one !== null).sort((a, b) => a.changes.length - b.changes.length);
  if (best === undefined) return { ...nothing(plan.path), why: "no earlier run of this account has a similar result" };
  const named = best.step === plan.path ? plan.path : `${plan.path} is not ${best.step} of run ${best.runId}`;
  const why = `${named}${best.step === plan.path ? " changed" : ""}: ${formatChanges(best.changes)}`;
  return { ...nothing(plan.path), why, nearest: best };
}

async function compared(
  cache: ResultCache,
  plan: CacheableStep,
  now: RequestIdentity,
  row: StoredResult,
  { runId, before }: Within,
) {
  if (row.runId === runId || row.at > before) return null;
  const state = await cache.state(row.runId);
  const produced = state === null ? undefined : stepNamed(state.planned.plan, row.step);
  if (state === null || produced === undefined || !cacheable(produced) || produced.kind !== plan.kind) return null;
  const then = currentIdentity(state, produced);
  if (then === null) return null;
  const changes = changesBetween(then.request, now.request).map(wholeMedia);
  return changes.length === 0 ? null : { runId: row.runId, step: row.step, changes };
}

/** Media differ as a whole, not in a part. */
function wholeMedia({ field, before, after }: FieldChange): FieldChange {
  if (!field.endsWith(".media")) return { field, before, after };
  const media = (value: Json | undefined) => (value === undefined ? undefined : { media: value });
  return { field: field.slice(0, -".media".length), before: media(before), after: media(after) };
}

function claimed(
  step: string,
  { runId, step: source }: { readonly runId: string; readonly step: string },
): StepExplanation {
  const why = `${source} of run ${runId} is identical, and its result still exists`;
  return { step, verdict: "reused", from: { runId, step: source }, why, nearest: null };
}

function nothing(step: string) {
  return { step, verdict: "executed", from: null, nearest: null } as const;
}

function known(plan: Plan, path: string): PlanStep {
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
    const lookup = await cache.find({ fingerprint, plan: step, runId: null, claimed, verify: false });
    if (lookup.found === null) {
      if (lookup.why !== null) unusable.set(step.path, lookup.why);
      continue;
    }
    reused.set(step.path, lookup.found);
    take(state, through(step.path, [{ type: "step.reused", step: step.path, ...lookup.found }]));
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
