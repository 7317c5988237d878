import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { UploadStep } from "../../plan/kinds/upload.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { gateOf } from "../readiness.ts";
import { type RunKind, wholeStep } from "./kind.ts";

export const uploadKind: RunKind<UploadStep> = {
  decide,
  activity: "uploading",
  span: "upload",
  localInputs: () => [],
  workedSpan: wholeStep,
  freeResult: ({ path, file: { sha256, sizeBytes, contentType } }) => [
    { type: "upload.stored", step: path, sha256, sizeBytes, contentType },
  ],
};

function decide(plan: UploadStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.upload !== null) return builder.finish(step, "succeeded");
  if (!builder.mayStart) return;
  const gate = gateOf(builder.state, plan);
  if (gate?.ready === "no") return;
  if (gate?.ready === "never") return builder.skipOrFail(step, gate.reason, gate.skippedByCondition);
  builder.start(step);
  builder.issue({ type: "upload", step: plan.path, input: null });
}
