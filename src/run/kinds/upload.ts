import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { UploadStep } from "../../plan/plan.ts";
import { gateOf } from "../readiness.ts";
import type { Turn } from "../turn.ts";

export function uploadStep(plan: UploadStep, step: StepState, turn: Turn): void {
  if (isStepFinal(step.status)) return;
  if (step.upload !== null) return turn.finish(step, "succeeded");
  if (!turn.mayBegin) return;
  const gate = gateOf(turn.state, plan);
  if (gate?.ready === "no") return;
  if (gate?.ready === "never") return turn.giveUp(step, gate.reason, gate.unwanted);
  turn.start(step);
  turn.issue({ type: "upload", step: plan.path });
}
