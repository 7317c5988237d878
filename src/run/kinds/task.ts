import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { TaskStep } from "../../plan/plan.ts";
import { looksBack } from "../look-back.ts";
import { readiness } from "../readiness.ts";
import type { Turn } from "../turn.ts";

/** A local function: run again after a crash, and after a failure as often as its policy says. */
export function taskStep(plan: TaskStep, step: StepState, turn: Turn): void {
  if (isStepFinal(step.status)) return;
  if (step.value !== undefined) return turn.finish(step, "succeeded");
  const last = step.failures.at(-1);
  if (last !== undefined && step.failures.length >= plan.policy.attempts) {
    return turn.finish(step, "failed", last.error.message);
  }
  if (!turn.mayBegin) return;
  // Looked at before the input is put together, which costs more where thousands wait.
  if (step.status !== "waiting" && turn.isActive(`task:${plan.path}`)) return;
  if (step.status === "waiting" && !turn.slots.free(plan)) return turn.giveUpEarly(plan, step);
  const ready = readiness(turn.state, plan, plan.input, "local");
  if (ready.ready === "no") return;
  if (ready.ready === "never") return turn.giveUp(step, ready.reason, ready.unwanted);
  if (looksBack(plan, step, ready.input, turn)) return;
  if (last !== undefined) {
    const retryAt = last.at + 1000 * 2 ** (step.failures.length - 1);
    if (retryAt > turn.context.now) return turn.wake(retryAt);
  }
  if (step.status === "waiting") turn.slots.take(plan);
  turn.start(step);
  turn.issue({ type: "task", step: plan.path, input: ready.input });
}
