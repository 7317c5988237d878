import { isStepFinal, type RunState, type StepState } from "../../journal/state.ts";
import type { StoredResult } from "../../journal/store.ts";
import { changesBetween, type FieldChange, isReference } from "../../plan/index.ts";
import type { Json, Plan, PlanStep } from "../../plan/plan.ts";
import { didYouMean } from "../../plan/suggest.ts";
import { stepNamed } from "../../run/plan-index.ts";
import { type CacheableStep, cacheable, currentIdentity, type RequestIdentity } from "../../run/request-identity.ts";
import { InvalidOptionError } from "../errors.ts";
import { type CacheMiss, type ResultCache, sourceKey } from "./result-cache.ts";
import { previewReuse, type ReusePreview } from "./reuse-preview.ts";

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
  const looked = await cache.find(query);
  if (looked.found !== null) return { ...nothing(path), why: whyNotTaken(state, step, looked.found.from) };
  if (looked.why !== null) return { ...nothing(path), why: GONE[looked.why] };
  return nearest(cache, plan, now, { runId: state.runId, before: step.startedAt ?? Number.POSITIVE_INFINITY });
}

function whyNotTaken(
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
