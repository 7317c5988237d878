import { ApiError, answerOf } from "../../api/index.ts";
import { type CleanText, cleanText, ownText } from "../../clean-text.ts";
import { LongWork } from "../../long-work.ts";
import { formatUsd } from "../../money.ts";
import { criticalPath, type JobLimits, referencesOf, resolveInput, traitsOf } from "../../plan/index.ts";
import type { Json, Plan, PlanStep, Problem, Reference, SubmittingStep } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { suggest } from "../../plan/suggest.ts";
import { readsUploads } from "../media/expired.ts";
import type { UploadHandles } from "../media/handles.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { ReusePreview } from "../reuse/explain.ts";
import { journalError } from "../service/service-answers.ts";
import { type EstimateCache, MOST_VOICES, type NamedVoice } from "./estimates.ts";
import type { ExpectedDurations } from "./expected-durations.ts";
import { placeholderInput } from "./placeholder-input.ts";
import { type ExpiryRisk, forecastRun, type RequestForecast } from "./run-forecast.ts";
import { groupProblems, type PlanWarning, type StepPrice, total, unusedSteps } from "./totals.ts";

const FIELD = "input.voice_id";
/** Voices that a message lists at most. */
const LISTED = 8;

/**
 * Voices that are written down and that their model does not have, with those that may be meant. A service that quoted
 * the very input has the last word: it knows voices that it does not list.
 */
export async function voiceProblems(
  steps: readonly PlanStep[],
  prices: readonly StepPrice[],
  refused: readonly Problem[],
  estimates: EstimateCache,
): Promise<readonly Problem[]> {
  const told = new Set(refused.filter(({ field }) => field !== FIELD).map(({ step }) => step));
  const open = steps.flatMap((step, index) => {
    const { submits } = traitsOf(step);
    const id = submits === null ? null : voiceOf(submits);
    if (submits === null || id === null || told.has(step.path) || isAccepted(prices[index]!)) return [];
    return [{ step: step.path, model: submits.model, id }];
  });
  const problems = open.map(async ({ step, model, id }): Promise<readonly Problem[]> => {
    const voices = await estimates.voices(model);
    if (voices.length === 0 || voices.length === MOST_VOICES || voices.some((voice) => voice.id === id)) return [];
    return [{ code: "unknown-voice", step, field: FIELD, ...unknownVoice(id, model, voices) }];
  });
  return (await Promise.all(problems)).flat();
}

function isAccepted({ basis }: StepPrice): boolean {
  return basis === "quoted" || basis === "reused" || basis === "free";
}

function voiceOf({ input }: SubmittingStep): string | null {
  const id = (input as { readonly voice_id?: unknown } | null)?.voice_id;
  return typeof id === "string" ? id : null;
}

function unknownVoice(id: string, model: string, voices: readonly NamedVoice[]) {
  const named = voices.flatMap(({ id: voice, name }) => (name == null ? [] : [[name, voice] as const]));
  const byName = new Map([...named, ...voices.map((voice) => [voice.id, voice.id] as const)]);
  const similar = [...new Set(suggest(id, byName.keys()).map((name) => byName.get(name)!))];
  const listed = voices.slice(0, LISTED);
  const all = listed.map((voice) => voice.id);
  const more = voices.length > LISTED ? `, … and ${voices.length - LISTED} more` : "";
  const meant = similar.length === 0 ? "" : `did you mean ${similar.join(" or ")}? `;
  const message = `${model} has no voice ${JSON.stringify(id)}; ${meant}its voices: ${listed.map(said).join(", ")}${more}`;
  return { message, allowed: similar.length > 0 ? similar : all };
}

function said({ id, name }: NamedVoice): string {
  return name == null || name === id ? id : `${id} (${name})`;
}

/** A plan with prices. Making one spends nothing: uploads and estimates are free. */
export interface Quote {
  /** False when there are problems: then nothing was priced. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** What does not stand in the way, and somebody should look at: paid steps that nothing uses. */
  readonly warnings: readonly PlanWarning[];
  readonly plan: Plan | null;
  readonly prices: readonly StepPrice[];
  /** Micro-dollars. `max` is null when a step has neither a price nor a maximum. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** What the wallet holds, micro-dollars; null where the service did not say. */
  readonly balanceMicros: number | null;
  /** The budget that the quote was asked for with, micro-dollars; null without one. */
  readonly budgetMicros: number | null;
  /** Step paths of the longest chain, in order. */
  readonly criticalPath: readonly string[];
  /** Expected duration of the critical path in milliseconds by earlier runs; null before each of its models ran once. */
  readonly forecastMs: number | null;
  /** API requests that a run sends, and how long they take under the key's limit. Null when there are problems. */
  readonly requests: RequestForecast | null;
  /** Steps that may find what they take in gone at the service. */
  readonly risks: readonly ExpiryRisk[];
}

export interface Pricing {
  readonly handles: UploadHandles;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
  readonly durations: ExpectedDurations;
  readonly maxUnquotedMicros: number | null;
  readonly limits: JobLimits;
  /** API requests a minute; null where that is not known. */
  readonly perMinute: number | null;
  /** Whether the whole plan is looked at: what leads to nothing, how long it takes, its requests and risks. */
  readonly isForecast: boolean;
  /** What earlier runs made of it, where that is to be taken over. */
  readonly reusePreview?: ReusePreview | undefined;
}

type Ref = Reference["$ref"];
type ModelStep = Extract<PlanStep, { readonly model: string }>;

/** Each may write a placeholder file and upload it before it asks. */
const PRICES_AT_ONCE = 32;

/** Asks the service what every step costs; equal inputs are asked once. `only`: these steps of the plan, not all. */
export async function pricePlan(plan: Plan, pricing: Pricing, only: readonly PlanStep[] = plan.steps): Promise<Quote> {
  const problems: Problem[] = [];
  const work = new LongWork();
  const files = new Map(only.flatMap((step) => traitsOf(step).file ?? []).map((file) => [file.sha256, file]));
  await Promise.all([...files.values()].map(({ path, sha256 }) => pricing.media.put({ path, sha256 })));
  const sources = { step: (path: string) => stepNamed(plan, path), ...pricing };

  const price = async (step: ModelStep): Promise<StepPrice> => {
    const base = {
      step: step.path,
      model: step.model,
      maxCostMicros: step.policy.maxCostMicros ?? pricing.maxUnquotedMicros,
    };
    const unquotable = (reason: CleanText): StepPrice => ({ ...base, costMicros: null, basis: "unquotable", reason });
    const refs = referencesOf(step.input);
    const pending = refs.filter((ref) => ref.as !== "upload" && pricing.reusePreview?.resolved(ref) === undefined);
    const stands = new Map<string, Json>();
    for (const ref of refs) {
      const stand = pricing.reusePreview?.resolved(ref) ?? (await placeholderInput(step, ref, sources));
      if (stand === null) return { ...unquotable(ownText(`${ref.step} does not exist yet`)), basis: "provisional" };
      stands.set(refKey(ref), stand);
    }
    const input = resolveInput(step.input, (ref) => stands.get(refKey(ref))!);
    try {
      const ask = (renew: boolean) =>
        pricing.estimates.ask(step.model, input, () => pricing.handles.resolveUploads(input, { renew }));
      const { costMicros, reason } = await ask(false).catch((error: unknown) => {
        // A handle that was kept from before may have lapsed.
        if (answerOf(error) !== "400 media" || !readsUploads(input)) throw error;
        return ask(true);
      });
      if (costMicros === null) return unquotable(cleanText(reason ?? "the service cannot quote this model in advance"));
      return { ...base, costMicros, basis: pending.length === 0 ? "quoted" : "provisional", reason: null };
    } catch (error) {
      if (!(error instanceof ApiError) || !isRefusal(error)) throw error;
      // What was asked about is not what will be sent: the refusal may be of a placeholder.
      if (pending.length > 0 && error.status === 400)
        return { ...unquotable(journalError(error).message), basis: "provisional" };
      problems.push(...refusal(step, error));
      return unquotable(cleanText(error.message));
    }
  };

  const prices: StepPrice[] = [];
  let next = 0;
  const priceOthers = async () => {
    while (next < only.length) {
      const index = next++;
      const step = only[index]!;
      const known = foreseen(step, pricing.reusePreview);
      const isQuoted = known === null && traitsOf(step).pricing.by === "quote" && "model" in step;
      prices[index] = isQuoted ? await price(step) : (known ?? unpriced(plan, step, pricing.maxUnquotedMicros));
      await work.pause();
    }
  };
  await Promise.all(Array.from({ length: PRICES_AT_ONCE }, priceOthers)).finally(() => {
    // After a failure nothing more is asked: the quote has failed.
    next = only.length;
  });
  const voices = await voiceProblems(only, prices, problems, pricing.estimates);
  const isVoice = ({ step, field }: Problem) => voices.some((voice) => voice.step === step && voice.field === field);
  problems.splice(0, problems.length, ...problems.filter((problem) => !isVoice(problem)), ...voices);
  // A step that the service refused has no price for that reason.
  const refused = new Set(problems.map(({ step }) => step));
  problems.push(...priceProblems(only, prices).filter(({ step }) => !refused.has(step)));
  await work.pause(only.length);
  problems.push(...groupProblems({ ...plan, steps: only }, prices));
  await work.pause(only.length);
  const totalMicros = total({ ...plan, steps: only }, prices);
  await work.pause(only.length);
  return {
    ok: problems.length === 0,
    problems,
    plan,
    prices,
    totalMicros,
    balanceMicros: null,
    budgetMicros: null,
    ...(pricing.isForecast
      ? await foresee(plan, pricing, work)
      : { warnings: [], criticalPath: [], forecastMs: null, requests: null, risks: [] }),
  };
}

/** What a person asks of the whole plan. */
async function foresee(
  plan: Plan,
  { durations, limits, perMinute, reusePreview }: Pricing,
  work: LongWork,
): Promise<Pick<Quote, "warnings" | "criticalPath" | "forecastMs" | "requests" | "risks">> {
  const stepAt = (path: string) => stepNamed(plan, path)!;
  const durationMs = (step: PlanStep) => durations.expectedMs(step);
  const { path, lengthMs } = criticalPath(plan, durationMs);
  const isForeseen = path.every((one) => {
    return traitsOf(stepAt(one)).pricing.by !== "quote" || durations.knownMs(stepAt(one)) !== null;
  });
  await work.pause(plan.steps.length);
  const isDone = (one: string) => foreseen(stepAt(one), reusePreview) !== null;
  return {
    warnings: unusedSteps(plan),
    criticalPath: path,
    forecastMs: isForeseen ? lengthMs : null,
    ...forecastRun(plan, { durationMs, limits, perMinute, isDone }),
  };
}

/** What surely costs nothing: what an earlier run made, and what nobody needs since. */
function foreseen(step: PlanStep, reusePreview: ReusePreview | undefined): StepPrice | null {
  const base = { step: step.path, model: "model" in step ? step.model : null, costMicros: 0, maxCostMicros: 0 };
  const found = reusePreview?.reused.get(step.path);
  if (found !== undefined)
    return { ...base, basis: "reused", reason: `made by ${found.from.step} of run ${found.from.runId}` };
  const state = reusePreview?.state.steps[step.path];
  return state?.status === "skipped" ? { ...base, basis: "free", reason: state.reason } : null;
}

/** Steps that the service does not quote: free ones, and those that run under a maximum only. */
function unpriced(plan: Plan, step: PlanStep, maxUnquotedMicros: number | null): StepPrice {
  const { pricing } = traitsOf(step);
  if (pricing.by === "quote") throw new TypeError(`${step.path} is quoted and names no model`);
  if (pricing.by === "nothing") return free(step.path);
  // Once its steps are in the plan, they have the prices.
  const hasInner = pricing.by === "inner steps" && plan.steps.some(({ path }) => path.startsWith(`${step.path}/`));
  if (hasInner) return free(step.path);
  const maxCostMicros = pricing.maxCostMicros ?? (pricing.by === "usage" ? maxUnquotedMicros : null);
  const model = "model" in step ? step.model : null;
  return { step: step.path, model, costMicros: null, basis: "unquotable", maxCostMicros, reason: pricing.why };
}

function free(step: string): StepPrice {
  return { step, model: null, costMicros: 0, basis: "free", maxCostMicros: 0, reason: null };
}

function refKey(ref: Ref): string {
  return JSON.stringify([ref.step, ref.as, ref.output, ref.at ?? []]);
}

/** Whether the service refused this very input, rather than the caller or the moment. */
function isRefusal({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status);
}

/** A refused estimate is a problem of the plan, one for each bad field. */
function refusal(step: ModelStep, error: ApiError): readonly Problem[] {
  const details = error.details ?? [];
  if (details.length === 0)
    return [
      {
        code: "refused",
        step: step.path,
        field: error.param === null ? null : cleanText(error.param, 300),
        message: cleanText(error.message),
      },
    ];
  return details.map((detail) => ({
    code: cleanText(detail.reason ?? "refused", 100),
    step: step.path,
    field: cleanText(detail.field, 300),
    // Some services repeat the field in the text.
    message: cleanText(
      detail.message.startsWith(`${detail.field}: `) ? detail.message.slice(detail.field.length + 2) : detail.message,
    ),
  }));
}

function priceProblems(steps: readonly PlanStep[], prices: readonly StepPrice[]): readonly Problem[] {
  return steps.flatMap((step, index): readonly Problem[] => {
    if (!("model" in step)) return [];
    const { costMicros, basis, maxCostMicros } = prices[index]!;
    const own = step.policy.maxCostMicros;
    if (basis === "unquotable" && maxCostMicros === null) {
      const message = `${step.model} cannot be quoted in advance: give the step a maxCost, or run with --max-unquoted USD.`;
      return [{ code: "unquotable", step: step.path, field: null, message }];
    }
    if (costMicros === null || own === null || costMicros <= own) return [];
    const message = `costs ${formatUsd(costMicros)} USD, more than its maxCost of ${formatUsd(own)} USD.`;
    return [{ code: "over-max-cost", step: step.path, field: null, message }];
  });
}
