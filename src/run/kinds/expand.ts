import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { ExpandStep } from "../../plan/plan.ts";
import { firstReasons } from "../first-reasons.ts";
import { stepsWithin } from "../plan-index.ts";
import { readiness } from "../readiness.ts";
import { missingReason, tally } from "../resolve.ts";
import type { Turn } from "../turn.ts";
import { isWanted, whyUnwanted } from "../wanted.ts";

/** Plans its steps once their value is known, and is through when they are. */
export function expandStep(plan: ExpandStep, step: StepState, turn: Turn): void {
  if (isStepFinal(step.status)) return;
  if (step.expanded !== null) {
    turn.start(step);
    return finishWhenThrough(plan, step, turn);
  }
  if (!turn.mayBegin) return;
  const ready = readiness(turn.state, plan, plan.on);
  if (ready.ready === "no") return;
  if (ready.ready === "never") return turn.giveUp(step, ready.reason, ready.unwanted);
  turn.start(step);
  turn.issue({ type: "expand", step: plan.path, value: ready.input });
}

function finishWhenThrough(plan: ExpandStep, step: StepState, turn: Turn): void {
  const { state } = turn;
  const own = stepsWithin(state.planned.plan, plan.path);
  if (!own.every(({ path }) => isStepFinal(state.steps[path]!.status))) return;
  const missing = step.expanded!.flatMap(({ $ref }) => {
    const { wanted, there } = tally(state, $ref);
    return there < wanted ? (missingReason(state, $ref) ?? []) : [];
  });
  if (missing.length === 0) return turn.finish(step, "succeeded");
  const all = missing.length === step.expanded!.length;
  if (all && !isWanted(state, plan.path)) return turn.finish(step, "skipped", whyUnwanted(state, plan.path), "pruned");
  const reason = `${missing.length} of ${step.expanded!.length} results are missing: ${firstReasons(missing)}`;
  turn.finish(step, all ? "failed" : "partial", reason);
}
