import { isStepFinal, type RunState } from "../journal/state.ts";
import { referencesOf } from "../plan/index.ts";
import type { PlanStep, Reference } from "../plan/plan.ts";
import { gateOf } from "./readiness.ts";
import { type ProducedOutput, referenced } from "./resolve.ts";

/** Whether the pipeline's own code could begin, were it not for the copy of this very output. */
export function isBlockingDownload(state: RunState, { step, output }: ProducedOutput): boolean {
  return state.planned.plan.steps.some((plan) => {
    const refs = readHere(plan);
    if (refs.length === 0 || isStepFinal(state.steps[plan.path]!.status) || gateOf(state, plan) !== null) return false;
    return refs.some(
      (ref) =>
        ref.as === "asset" &&
        referenced(state, ref).some((produced) => produced.step === step && produced.output === output),
    );
  });
}

/** What a step reads from our own disk. */
function readHere(plan: PlanStep): readonly Reference["$ref"][] {
  if (plan.kind === "task") return referencesOf(plan.input);
  return plan.kind === "pick" && plan.by === "score" ? plan.among.map(({ $ref }) => $ref) : [];
}
