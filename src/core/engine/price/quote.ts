import PQueue from "p-queue";
import { type CleanText, cleanText } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { LongWork } from "../../kit/long-work.ts";
import { formatUsd } from "../../kit/money.ts";
import { type Catalog, type JobLimits, optionsAround, referencesOf, traitsOf } from "../../plan/index.ts";
import { type Json, type Plan, type PlanStep, type Problem, stepNamed } from "../../plan/plan.ts";
import { criticalPath, type DurationMs, dependentsOf, expectedSpanMs } from "../../plan/slots.ts";
import type { Offer } from "../errors.ts";
import type { UploadHandles } from "../media/handles.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { ReusePreview } from "../reuse/result-cache.ts";
import type { EstimateCache, Estimated } from "./estimates.ts";
import type { EarlierMs, ExpectedDurations } from "./expected.ts";
import { NO_OFFER } from "./offers.ts";
import { type PlaceholderInput, type PlaceholderSources, placeholderInput } from "./placeholder-input.ts";
import { isLapse, isRefusal, readRefusal } from "./refusal.ts";
import { groupProblems, optionsOut, type PlanWarning, type StepPrice, total, unusedSteps } from "./totals.ts";

/** A plan with prices. Requesting a quote costs nothing: uploads and estimates are free. */
export interface Quote extends Offer {
  /** False if there are problems. If the plan itself is invalid, nothing was priced. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** Possible mistakes in a plan that can run, such as paid steps whose result nothing uses. */
  readonly warnings: readonly PlanWarning[];
  readonly plan: Plan | null;
  readonly prices: readonly StepPrice[];
  /** Total in micro-dollars. `max` is null if the cost of a step has no upper limit. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** Expected cost in micro-dollars. Includes the maximum cost of each step that has no quoted price. */
  readonly expectedMicros: number;
  /** The wallet's balance in micro-dollars. Null if the service did not report it. */
  readonly balanceMicros: number | null;
  /** The budget for which the quote was requested, in micro-dollars. Null if there is none. */
  readonly budgetMicros: number | null;
  /** Paths of the steps in the longest chain of dependent steps, in order. */
  readonly criticalPath: readonly string[];
  /** Estimated duration in milliseconds, based on earlier jobs. Null if a model on the critical path has none. */
  readonly forecastMs: number | null;
  /** Steps that might start after one of their inputs has expired on the service. */
  readonly risks: readonly ExpiryRisk[];
}

export function unplanned(problems: readonly Problem[]): Quote {
  return {
    ...NO_OFFER,
    ok: false,
    problems,
    warnings: [],
    plan: null,
    prices: [],
    totalMicros: { min: 0, max: null },
    expectedMicros: 0,
    balanceMicros: null,
    budgetMicros: null,
    criticalPath: [],
    forecastMs: null,
    risks: [],
  };
}

export interface Pricing {
  readonly catalog: Pick<Catalog, "model">;
  readonly handles: UploadHandles;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
  readonly durations: ExpectedDurations;
  readonly maxUnquotedMicros: number | null;
  readonly missingKey: Error | null;
  readonly limits: JobLimits;
  /** How long the service keeps a job's outputs after the job was submitted, in milliseconds. */
  readonly outputsLiveMs: number;
  readonly isForecast: boolean;
  readonly earlierMs?: EarlierMs | undefined;
  readonly reusePreview?: ReusePreview | undefined;
}

type ModelStep = Extract<PlanStep, { readonly model: string }>;

const PRICES_AT_ONCE = 32;

export async function pricePlan(plan: Plan, pricing: Pricing, only: readonly PlanStep[] = plan.steps): Promise<Quote> {
  const problems: Problem[] = [];
  const work = new LongWork();
  const files = new Map(only.flatMap((step) => traitsOf(step).file ?? []).map((file) => [file.sha256, file]));
  await Promise.all([...files.values()].map(({ path, sha256 }) => pricing.media.put({ path, sha256 })));
  const sources = { step: (path: string) => stepNamed(plan, path), resolved: resolvedBy(pricing), ...pricing };

  const price = async (step: ModelStep): Promise<StepPrice> => {
    const maxCostMicros = step.policy.maxCostMicros ?? pricing.maxUnquotedMicros;
    const capMicros = step.policy.maxCostMicros;
    const base = { step: step.path, model: step.model, maxCostMicros, mostMicros: capMicros, costMicros: null };
    const { missingKey } = pricing;
    if (missingKey !== null) return { ...base, basis: "provisional", reason: cleanText(missingKey.message) };
    const placed = await placeholderInput(step, sources);
    const { input, pending } = placed;
    problems.push(...placed.problems);
    const unquotable = (reason: CleanText): StepPrice => {
      return { ...base, mostMicros: maxCostMicros, basis: "unquotable", reason, ...conditionalOn(placed.conditions) };
    };
    const ask = async (asked: Json): Promise<Estimated> => {
      const once = (renew: boolean) =>
        pricing.estimates.ask(step.model, asked, () => pricing.handles.resolveUploads(asked, { renew }));
      return once(false).catch((error: unknown) => {
        if (!isLapse(error, placed)) throw error;
        return once(true);
      });
    };
    /**
     * Returns the price for the longest input, limited to the step's own maximum, because a step that would cost more
     * fails.
     */
    const most = async (expectedMicros: number | null): Promise<number | null> => {
      if (placed.largest === null) return capMicros;
      const { costMicros } = await ask(placed.largest).catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
        return { costMicros: null };
      });
      return costMicros === null
        ? capMicros
        : Math.min(Math.max(costMicros, expectedMicros ?? 0), capMicros ?? Infinity);
    };
    const provisional = async (
      costMicros: number | null,
      refused: PlaceholderInput["conditions"] = [],
    ): Promise<StepPrice> => {
      const conditions = [...placed.conditions, ...refused];
      const without = pending.find(({ by }) => by === null);
      const reasons = [
        ...(without === undefined ? [] : [`the output of ${without.step} does not exist yet`]),
        ...conditions.map(({ message }) => message),
      ];
      const reason = reasons.length === 0 ? null : [...new Set(reasons)].join("; ");
      const known = without === undefined ? costMicros : null;
      const mostMicros = await most(known);
      return { ...base, costMicros: known, mostMicros, basis: "provisional", reason, ...conditionalOn(conditions) };
    };
    try {
      const { costMicros, reason } = await ask(input);
      if (costMicros === null && pending.every(({ by }) => by !== null))
        return unquotable(cleanText(reason ?? "the service cannot quote this model in advance"));
      if (pending.length > 0) return await provisional(costMicros);
      return { ...base, costMicros, mostMicros: costMicros, basis: "quoted", reason: null };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const refused = readRefusal(step, error, pending);
      problems.push(...refused.problems);
      if (refused.problems.length > 0) return unquotable(cleanText(error.message));
      return await provisional(null, refused.conditions);
    }
  };

  const queue = new PQueue({ concurrency: PRICES_AT_ONCE });
  const quoted = only.filter((step): step is ModelStep => {
    return traitsOf(step).pricing.by === "quote" && "model" in step && foreseen(step, pricing.reusePreview) === null;
  });
  const quotes = quoted.map((step) => async () => {
    await work.pause();
    return [step.path, await price(step)] as const;
  });
  // After one failure the whole quote fails, so nothing more is requested.
  const quotedPrices = new Map(await queue.addAll(quotes).finally(() => queue.clear()));
  const prices: StepPrice[] = [];
  for (const step of only) {
    await work.pause();
    const priced =
      quotedPrices.get(step.path) ??
      foreseen(step, pricing.reusePreview) ??
      unpriced(plan, step, pricing.maxUnquotedMicros);
    const second = optionsAround(plan, step.path).find(({ at }) => at > 0);
    const insteadOf = second && second.choice.second.options[second.at - 1]!;
    prices.push(insteadOf === undefined ? priced : { ...priced, insteadOf });
  }
  const voices = await pricing.estimates.voices.problems(only, prices, problems);
  const isVoice = ({ step, field }: Problem) => voices.some((voice) => voice.step === step && voice.field === field);
  problems.splice(0, problems.length, ...problems.filter((problem) => !isVoice(problem)), ...voices);
  const refused = new Set(problems.map(({ step }) => step));
  problems.push(...priceProblems(only, prices).filter(({ step }) => !refused.has(step)));
  await work.pause(only.length);
  problems.push(...groupProblems({ ...plan, steps: only }, prices));
  await work.pause(only.length);
  const totals = total({ ...plan, steps: only }, prices);
  await work.pause(only.length);
  return {
    ...NO_OFFER,
    ok: problems.length === 0,
    problems,
    plan,
    prices,
    ...totals,
    balanceMicros: null,
    budgetMicros: null,
    ...(pricing.isForecast
      ? await foresee(plan, pricing, work)
      : { warnings: [], criticalPath: [], forecastMs: null, risks: [] }),
  };
}

function conditionalOn(conditions: PlaceholderInput["conditions"]): Pick<StepPrice, "conditionalOn"> {
  const steps = [...new Set(conditions.map(({ step }) => step))];
  return steps.length === 0 ? {} : { conditionalOn: steps };
}

function resolvedBy({ reusePreview }: Pricing): PlaceholderSources["resolved"] {
  return (ref) => {
    const value = reusePreview?.resolved(ref);
    return value === undefined ? null : { value };
  };
}

async function foresee(
  plan: Plan,
  { durations, limits, reusePreview, outputsLiveMs }: Pricing,
  work: LongWork,
): Promise<Pick<Quote, "warnings" | "criticalPath" | "forecastMs" | "risks">> {
  const stepAt = (path: string) => stepNamed(plan, path)!;
  const isDone = (path: string) => foreseen(stepAt(path), reusePreview) !== null;
  const isSecond = (path: string) => optionsAround(plan, path).some(({ at }) => at > 0);
  const durationMs = (step: PlanStep) => {
    return isDone(step.path) || isSecond(step.path) ? 0 : durations.expectedMs(step);
  };
  const { path } = criticalPath(plan, durationMs);
  const isForeseen = path.every((name) => {
    const isTimed = traitsOf(stepAt(name)).pricing.by !== "quote" || durations.knownMs(stepAt(name)) !== null;
    return isTimed || isDone(name) || isSecond(name);
  });
  await work.pause(plan.steps.length);
  return {
    warnings: [...optionsOut(plan), ...unusedSteps(plan)],
    criticalPath: path.filter((name) => !isSecond(name)),
    forecastMs: isForeseen ? expectedSpanMs(plan, durationMs, limits) : null,
    risks: expiryRisks(plan, durationMs, { isDone, outputsLiveMs }),
  };
}

/** Returns a price of zero if the step's result will be reused or is not needed; otherwise null. */
function foreseen(step: PlanStep, reusePreview: ReusePreview | undefined): StepPrice | null {
  const base = {
    step: step.path,
    model: "model" in step ? step.model : null,
    costMicros: 0,
    maxCostMicros: 0,
    mostMicros: 0,
  };
  const found = reusePreview?.reused.get(step.path);
  if (found !== undefined)
    return { ...base, basis: "reused", reason: `made by ${found.from.step} of run ${found.from.runId}` };
  const state = reusePreview?.state.steps[step.path];
  return state?.status === "skipped" ? { ...base, basis: "free", reason: state.reason } : null;
}

function unpriced(plan: Plan, step: PlanStep, maxUnquotedMicros: number | null): StepPrice {
  const { pricing } = traitsOf(step);
  if (pricing.by === "quote") throw new TypeError(`${step.path} gets its price from a quote but has no model`);
  if (pricing.by === "nothing") return free(step.path);
  // Once an expansion's steps are in the plan, those steps have the prices.
  const hasInner = pricing.by === "inner steps" && plan.steps.some(({ path }) => path.startsWith(`${step.path}/`));
  if (hasInner) return free(step.path);
  const maxCostMicros = pricing.maxCostMicros ?? (pricing.by === "usage" ? maxUnquotedMicros : null);
  const model = "model" in step ? step.model : null;
  return {
    step: step.path,
    model,
    costMicros: null,
    basis: "unquotable",
    maxCostMicros,
    mostMicros: maxCostMicros,
    reason: pricing.why,
  };
}

function free(step: string): StepPrice {
  return { step, model: null, costMicros: 0, basis: "free", maxCostMicros: 0, mostMicros: 0, reason: null };
}

function priceProblems(steps: readonly PlanStep[], prices: readonly StepPrice[]): readonly Problem[] {
  return steps.flatMap((step, index): readonly Problem[] => {
    if (!("model" in step)) return [];
    const { costMicros, basis, maxCostMicros } = prices[index]!;
    const capMicros = step.policy.maxCostMicros;
    if (basis === "unquotable" && maxCostMicros === null) {
      const message = `${step.model} cannot be quoted in advance: give the step a maxCost, or run with --max-unquoted USD.`;
      return [{ code: "unquotable", step: step.path, field: null, message }];
    }
    if (costMicros === null || capMicros === null || costMicros <= capMicros) return [];
    const message = `costs ${formatUsd(costMicros)} USD, more than its maxCost of ${formatUsd(capMicros)} USD.`;
    return [{ code: "over-max-cost", step: step.path, field: null, message }];
  });
}

/** An asset that may expire before a step that uses it starts. */
interface ExpiryRisk {
  readonly step: string;
  /** Path of the step that makes the asset. */
  readonly uses: string;
  readonly why: string;
  /** True if a stored copy can be uploaded again for free. If false, the asset would have to be paid for again. */
  readonly heals: boolean;
}

interface RiskContext extends Pick<Pricing, "outputsLiveMs"> {
  readonly isDone: (path: string) => boolean;
}

function expiryRisks(
  plan: Plan,
  durationMs: DurationMs,
  { isDone, outputsLiveMs }: RiskContext,
): readonly ExpiryRisk[] {
  const endsAt = new Map<string, number>();
  const startOf = ({ needs }: PlanStep) => needs.reduce((at, path) => Math.max(at, endsAt.get(path) ?? 0), 0);
  for (const step of plan.steps) endsAt.set(step.path, startOf(step) + durationMs(step));
  const gates = gatesOf(plan);
  const lifetime = `${hours(outputsLiveMs)} h after submission`;
  return plan.steps.flatMap((step) => {
    if (isDone(step.path)) return [];
    return makersOf(plan, step).flatMap((maker): readonly ExpiryRisk[] => {
      if (isDone(maker.path)) return [];
      const ageMs = startOf(step) - startOf(maker);
      const gate = gates.find(({ after }) => after.has(step.path) && !after.has(maker.path));
      if (ageMs <= outputsLiveMs && gate === undefined) return [];
      const why =
        ageMs > outputsLiveMs
          ? `${step.path} starts about ${hours(ageMs)} h after ${maker.path} is submitted, but the service deletes the output of ${maker.path} ${lifetime}`
          : `${step.path} waits for a decision on ${gate!.path}, but the service deletes the output of ${maker.path} ${lifetime}`;
      return [{ step: step.path, uses: maker.path, why, heals: traitsOf(maker).submits!.policy.keep }];
    });
  });
}

interface Gate {
  readonly path: string;
  readonly after: ReadonlySet<string>;
}

function gatesOf(plan: Plan): readonly Gate[] {
  const decisions = plan.steps.filter((step) => traitsOf(step).decision !== null);
  if (decisions.length === 0) return [];
  const dependents = dependentsOf(plan);
  return decisions.map(({ path }) => {
    const after = new Set([path]);
    for (const earlier of after) for (const user of dependents.get(earlier) ?? []) after.add(user.path);
    after.delete(path);
    return { path, after };
  });
}

function makersOf(plan: Plan, step: PlanStep): readonly PlanStep[] {
  const { submits } = traitsOf(step);
  if (submits === null) return [];
  const makers: PlanStep[] = [];
  const open = new Set(referencesOf(submits.input).flatMap((ref) => (ref.as === "asset" ? [ref.step] : [])));
  for (const path of open) {
    const source = stepNamed(plan, path);
    if (source === undefined) continue;
    const traits = traitsOf(source);
    if (traits.submits !== null && source.yields !== "voice") makers.push(source);
    else for (const { $ref } of traits.standsFor) open.add($ref.step);
  }
  return makers;
}

function hours(ms: number): number {
  return Math.round(ms / HOUR_MS);
}
