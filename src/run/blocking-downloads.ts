import { isStepFinal, type RunState } from "../journal/state.ts";
import { traitsOf } from "../plan/index.ts";
import { gateOf } from "./readiness.ts";
import { type ProducedOutput, referenced } from "./resolve.ts";

/** Whether the pipeline's own code could begin, were it not for the copy of this very output. */
export function isBlockingDownload(state: RunState, { step, output }: ProducedOutput): boolean {
  return state.planned.plan.steps.some((plan) => {
    const { readsFiles, uses: refs } = traitsOf(plan);
    if (!readsFiles || isStepFinal(state.steps[plan.path]!.status) || gateOf(state, plan) !== null) return false;
    return refs.some(
      (ref) =>
        ref.as === "asset" &&
        referenced(state, ref).some((produced) => produced.step === step && produced.output === output),
    );
  });
}
