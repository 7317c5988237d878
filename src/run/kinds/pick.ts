import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { PickStep } from "../../plan/plan.ts";
import { gateOf, referenced } from "../resolve.ts";
import type { Turn } from "../turn.ts";

/** One of several results: the first that is there, or the one that a function scores highest. */
export function pickStep(plan: PickStep, step: StepState, turn: Turn): void {
  if (isStepFinal(step.status)) return;
  if (step.chosen !== null) return turn.finish(step, "succeeded");
  const failure = step.failures.at(-1);
  if (failure !== undefined) return turn.finish(step, "failed", failure.error.message);
  if (!turn.mayBegin) return;
  const gate = gateOf(turn.state, plan);
  if (gate?.ready === "no") return;
  if (gate?.ready === "never") return turn.giveUp(step, gate.reason, gate.unwanted);
  const made = plan.among.flatMap(({ $ref }) => referenced(turn.state, $ref));
  const [first] = made;
  if (first === undefined) return turn.giveUp(step, "none of what it picks from was made", false);
  if (plan.by === "score" && made.some(({ output }) => output.copy === null && output.voiceId === null)) return;
  turn.start(step);
  if (plan.by === "score") return turn.issue({ type: "score", step: plan.path });
  const chosen = { step: first.step, index: first.output.index };
  turn.events.push({ type: "pick.made", step: plan.path, chosen, scores: null });
}
