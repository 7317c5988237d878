import type { RunEnd } from "../journal/events.ts";
import { type OutputState, outputsOf, type RunState } from "../journal/state.ts";
import type { Reference } from "../plan/plan.ts";
import { referenced, referencedValue, returnedReferences } from "./resolve.ts";

/** A returned output that has a copy but no named file yet. */
export interface ToPlace {
  /** Name in what the pipeline returns; outputs of one list get `-2`, `-3` … */
  readonly name: string;
  readonly step: string;
  readonly output: OutputState;
}

export interface Ending {
  readonly status: RunEnd;
  readonly message: string | null;
  readonly toPlace: readonly ToPlace[];
}

/** How a run whose steps are all through ends: by what it was asked to return. */
export function ending(state: RunState): Ending {
  const returned = returnedReferences(state.planned.plan.returns);
  const missing: string[] = [];
  const toPlace: ToPlace[] = [];
  const placed = new Set(state.files.map((file) => file.name));
  for (const { name, ref } of returned) {
    if (isMissing(state, ref)) missing.push(name);
    if (ref.as === "value") continue;
    referenced(state, ref).forEach(({ step, output }, position) => {
      const label = ref.output === "all" ? `${name}-${position + 1}` : name;
      if (output.copy !== null && !placed.has(label)) toPlace.push({ name: label, step, output });
    });
  }
  const { plan } = state.planned;
  const failed = plan.steps
    .map(({ path }) => state.steps[path]!)
    .filter((step) => step.status === "failed" || step.status === "partial");
  const message = failed.length === 0 ? null : failed.map((step) => `${step.path}: ${step.reason}`).join("; ");
  const there = returned.length - missing.length;
  const enough = typeof plan.onFailure === "object" && there >= plan.onFailure.quorum;
  if (missing.length === 0 || enough) {
    const nothingDone = returned.length === 0 && failed.length > 0;
    return { status: nothingDone ? "failed" : "succeeded", message, toPlace };
  }
  return { status: there === 0 ? "failed" : "partial", message, toPlace };
}

/** Whether less is there than was asked for. What nobody wanted, by a condition, is not missing. */
function isMissing(state: RunState, ref: Reference["$ref"]): boolean {
  const step = state.steps[ref.step];
  if (step === undefined) return true;
  if (step.unwanted || ref.as === "upload") return false;
  if (ref.as === "value") return referencedValue(state, ref) === undefined;
  const one = ref.output !== "all";
  return referenced(state, ref).length < (one ? 1 : (step.expanded?.length ?? Math.max(1, outputsOf(step).length)));
}
