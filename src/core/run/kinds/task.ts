import { isStepFinal, ownAttempts, type StepState } from "../../journal/state.ts";
import type { TaskStep } from "../../plan/kinds/task.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { readiness } from "../readiness.ts";
import { awaitCacheLookup } from "../request-identity.ts";
import { type RunKind, wholeStep } from "./kind.ts";

export const taskKind: RunKind<TaskStep> = {
  decide,
  activity: "working",
  span: "task",
  localInputs: (plan, state) => [plan.version, readiness(state, plan, plan.input, "local")],
  workedSpan: wholeStep,
  freeResult: () => null,
};

function decide(plan: TaskStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.value !== undefined) return builder.finish(step, "succeeded");
  const tries = ownAttempts(step);
  const last = tries.at(-1);
  if (last !== undefined && tries.length >= plan.policy.attempts) {
    return builder.finish(step, "failed", last.error!.message);
  }
  if (!builder.mayStart) return;
  // These checks come first, because it is expensive to resolve the inputs of thousands of waiting steps.
  if (step.status !== "waiting" && builder.isActive(`task:${plan.path}`)) return;
  if (step.status === "waiting" && !builder.hasSlot(plan)) return builder.skipIfImpossible(plan, step);
  const ready = readiness(builder.state, plan, plan.input, "local");
  if (ready.ready === "no") return;
  if (ready.ready === "never") return builder.skipOrFail(step, ready.reason, ready.skippedByCondition);
  if (awaitCacheLookup(plan, step, ready.input, builder)) return;
  if (last !== undefined) {
    const retryAt = last.completedAt! + 1000 * 2 ** (tries.length - 1);
    if (retryAt > builder.context.now) return builder.wake(retryAt);
  }
  if (step.status === "waiting") builder.takeSlot(plan);
  builder.start(step);
  builder.issue({ type: "task", step: plan.path, input: ready.input });
}
