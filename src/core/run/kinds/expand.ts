import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { ExpandStep } from "../../plan/kinds/expand.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { firstReasons } from "../pruning.ts";
import { readiness } from "../readiness.ts";
import { missingReason, tally } from "../resolve.ts";
import { type RunKind, wholeStep } from "./kind.ts";

export const expandKind: RunKind<ExpandStep> = {
  decide,
  activity: "planning",
  span: null,
  localInputs: () => [],
  workedSpan: wholeStep,
  freeResult: () => null,
};

function decide(plan: ExpandStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.expanded !== null) {
    builder.start(step);
    return finishWhenThrough(plan, step, builder);
  }
  if (!builder.mayStart) return;
  const ready = readiness(builder.state, plan, plan.on);
  if (ready.ready === "no") return;
  if (ready.ready === "never") return builder.skipOrFail(step, ready.reason, ready.skippedByCondition);
  builder.start(step);
  builder.issue({ type: "expand", step: plan.path, input: ready.input });
}

function finishWhenThrough(plan: ExpandStep, step: StepState, builder: DecisionBuilder): void {
  const { state } = builder;
  if (builder.index.hasOpenSources(plan.path)) return;
  const missing = step.expanded!.flatMap(({ $ref }) => {
    const { expected, available } = tally(state, $ref);
    return available < expected ? (missingReason(state, $ref) ?? []) : [];
  });
  if (missing.length === 0) return builder.finish(step, "succeeded");
  const all = missing.length === step.expanded!.length;
  if (all && !builder.isNeeded(plan.path)) return builder.prune(step);
  const reason = `${missing.length} of ${step.expanded!.length} results are missing: ${firstReasons(missing)}`;
  builder.finish(step, all ? "failed" : "partial", reason);
}
