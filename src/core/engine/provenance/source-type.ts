import type { DigitalSourceType } from "../../marks/index.ts";
import { referencesOf, traitsOf } from "../../plan/index.ts";
import type { Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";

/**
 * How a file came about, in IPTC's words: made by a model; or put together, by a model from a file of somebody's, or by a
 * local function from what a model made. Null where no model took part in its picture or sound, and of a text.
 */
export function sourceTypeOf(plan: Plan, path: string, contentType: string): DigitalSourceType | null {
  if (!/^(?:image|video|audio)\//.test(contentType)) return null;
  const steps = mediaSources(plan, path);
  if (!steps.some(isByModel)) return null;
  const isWhole = steps.every((step) => isByModel(step) || traitsOf(step).standsFor.length > 0);
  return isWhole ? "trainedAlgorithmicMedia" : "compositeWithTrainedAlgorithmicMedia";
}

function isByModel(step: PlanStep): boolean {
  return traitsOf(step).pricing.by !== "nothing" && step.yields !== "value";
}

/** The step, and those whose pictures or sound are in what it makes: a voice that speaks is not, nor a text. */
function mediaSources(plan: Plan, path: string): readonly PlanStep[] {
  const found = new Map<string, PlanStep>();
  const open = [path];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const step = stepNamed(plan, next);
    if (step === undefined || found.has(next)) continue;
    found.set(next, step);
    open.push(...usedMedia(step).map(({ step }) => step));
  }
  return [...found.values()];
}

function usedMedia(step: PlanStep): readonly Reference["$ref"][] {
  const { standsFor } = traitsOf(step);
  const references = "input" in step ? referencesOf(step.input) : standsFor.map(({ $ref }) => $ref);
  return references.filter(({ as }) => as === "asset" || as === "upload");
}
