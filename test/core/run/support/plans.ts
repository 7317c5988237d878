import { fingerprint, referencesOf } from "../../../../src/core/plan/index.ts";
import type { JobStep } from "../../../../src/core/plan/kinds/job.ts";
import type { FailurePolicy, Json, Plan, PlanStep, Reference, StepPolicy } from "../../../../src/core/plan/plan.ts";

export const policy: StepPolicy = { attempts: 1, maxCostMicros: null, keep: true };

/** A reference to one output, or to all of them. */
export function ref(step: string, output: number | "all" | "chosen" = 0): Reference {
  return { $ref: { step, as: "asset", output, kind: "image" } };
}

export function needsOf(input: Json, after: readonly string[] = []): readonly string[] {
  return [...new Set([...referencesOf(input).map(({ step }) => step), ...after])].sort();
}

export interface JobOptions extends Partial<StepPolicy> {
  readonly outputs?: number;
  readonly after?: readonly string[];
  readonly when?: PlanStep["when"];
}

/** Creates a job; all its references become edges. */
export function job(path: string, input: Json = {}, options: JobOptions = {}): JobStep {
  const { outputs = 1, after = [], when, ...own } = options;
  const asked = { prompt: path, ...(input as object) } as Json;
  const fields = { kind: "job", path, model: "m", input: asked, outputs, yields: "image" } as const;
  return {
    ...fields,
    needs: needsOf(asked, [...after, ...(when === undefined ? [] : ["failed" in when ? when.failed : when.ref.step])]),
    policy: { ...policy, ...own },
    fingerprint: fingerprint({ kind: "job", model: "m", input: asked }),
    ...(when !== undefined && { when }),
  };
}

export function planOf(
  steps: readonly PlanStep[],
  returns: Plan["returns"] = {},
  onFailure: FailurePolicy = "continue",
): Plan {
  return { version: 1, pipeline: "by-hand", steps, returns, onFailure };
}
