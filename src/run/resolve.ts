import { lastAttempt, type OutputState, outputsOf, type RunState, type StepState } from "../journal/state.ts";
import { referencesOf, resolveInput } from "../plan/index.ts";
import type { JobStep, Json, Reference, Returned } from "../plan/plan.ts";

type Ref = Reference["$ref"];

/** What a step waits for, is stopped by, or is ready with. */
export type Readiness =
  | { readonly ready: "no" }
  | { readonly ready: "never"; readonly reason: string }
  | { readonly ready: "yes"; readonly input: Json };

/** Whether a job step's needs are there, and its input with every reference replaced by what it refers to. */
export function readiness(state: RunState, step: JobStep): Readiness {
  for (const path of step.needs) {
    const needed = state.steps[path]!;
    if (needed.status === "failed" || needed.status === "skipped" || needed.status === "cancelled") {
      return { ready: "never", reason: `needs ${path}, which was ${needed.status}` };
    }
    if (needed.status !== "succeeded" && needed.status !== "partial") return { ready: "no" };
  }
  for (const ref of referencesOf(step.input)) {
    const missing = missingReason(state, ref);
    if (missing !== null) return { ready: "never", reason: missing };
  }
  return { ready: "yes", input: resolveInput(step.input, (ref) => lookUp(state, ref)) };
}

/** Outputs that a reference takes, of those that are there. */
export function referenced(state: RunState, ref: Ref): readonly OutputState[] {
  const step = state.steps[ref.step];
  const usable = step === undefined ? [] : outputsOf(step).filter(isUsable);
  if (ref.output === "all") return usable;
  return usable.filter((output) => output.index === (ref.output === "chosen" ? 0 : ref.output));
}

/** Every reference of what a pipeline returns, under its dotted name: `video`, `shots[0]`. */
export function returnedReferences(returns: {
  readonly [name: string]: Returned;
}): readonly { name: string; ref: Ref }[] {
  const found: { name: string; ref: Ref }[] = [];
  const walk = (name: string, value: Returned) => {
    if (Array.isArray(value)) value.forEach((item, index) => void walk(`${name}[${index}]`, item));
    else if (isReference(value)) found.push({ name, ref: value.$ref });
    else for (const [key, item] of Object.entries(value)) walk(name === "" ? key : `${name}.${key}`, item as Returned);
  };
  walk("", returns);
  return found;
}

export function isReference(value: unknown): value is Reference {
  return typeof value === "object" && value !== null && "$ref" in value;
}

function isUsable(output: OutputState): boolean {
  return output.status === "COMPLETED" && (output.phase !== "expired" || output.voiceId !== null);
}

function missingReason(state: RunState, ref: Ref): string | null {
  const step = state.steps[ref.step]!;
  if (ref.as === "upload") return step.upload === null ? `the file of ${ref.step} is not there` : null;
  if (referenced(state, ref).length > 0) return null;
  const which = typeof ref.output === "number" ? `output ${ref.output} of ${ref.step}` : `the outputs of ${ref.step}`;
  return `needs ${which}, which ${whyUnusable(step, ref)}`;
}

function whyUnusable(step: StepState, ref: Ref): string {
  const attempt = lastAttempt(step);
  const output = typeof ref.output === "number" ? attempt?.outputs[ref.output] : attempt?.outputs[0];
  if (output === undefined) return "does not exist";
  return output.phase === "expired" ? "expired at the service and has no local copy" : "failed";
}

function lookUp(state: RunState, ref: Ref): Json {
  if (ref.as === "upload") return { source: "upload", sha256: state.steps[ref.step]!.upload!.sha256 };
  const values = referenced(state, ref).map((output): Json => {
    if (ref.as === "voice") return output.voiceId;
    // The asset is gone at the service, our copy is not: it goes back as a free upload.
    if (output.phase === "kept" && output.copy !== null) return { source: "upload", sha256: output.copy.sha256 };
    return { source: "asset", asset_id: output.assetId };
  });
  return ref.output === "all" ? values : values[0]!;
}
