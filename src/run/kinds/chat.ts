import { isStepFinal, lastChat, type StepState } from "../../journal/state.ts";
import type { ChatStep } from "../../plan/plan.ts";
import { readiness } from "../resolve.ts";
import type { Turn } from "../turn.ts";

/** A question to a chat model: at least once, because nobody can ask the service what became of an earlier one. */
export function chatStep(plan: ChatStep, step: StepState, turn: Turn): void {
  if (isStepFinal(step.status)) return;
  if (step.value !== undefined) return turn.finish(step, "succeeded");
  const last = lastChat(step);
  if (last?.phase === "sent") {
    if (turn.isActive(`chat:${plan.path}#${last.n}`)) return;
    turn.events.push({ type: "chat.abandoned", step: plan.path, attempt: last.n, holdMicros: last.holdMicros });
    return;
  }
  if (last?.phase === "failed") {
    const tried = step.chats.filter(({ n, phase }) => n > step.voided && phase === "failed").length;
    const again = last.error?.retryable === true && tried < plan.policy.attempts;
    if (!again) return turn.finish(step, "failed", `${last.error?.code}: ${last.error?.message}`);
  }
  if (!turn.mayBegin) return;
  begin(plan, step, turn);
}

function begin(plan: ChatStep, step: StepState, turn: Turn): void {
  const ready = readiness(turn.state, plan, plan.input);
  if (ready.ready === "no") return;
  if (ready.ready === "never") return turn.giveUp(step, ready.reason, ready.unwanted);
  const holdMicros = plan.policy.maxCostMicros ?? turn.state.maxUnquotedMicros;
  if (holdMicros === null) {
    const message = `${plan.path} (${plan.model}) has no price in advance and no maxCost. Set maxCost on the step, or resume with --max-unquoted USD.`;
    return turn.pause("budget", message);
  }
  const attempt = step.chats.length + 1;
  if (!turn.slots.free(plan) || !turn.affords(step, holdMicros)) return;
  if (!turn.isOpen(`chat:${plan.path}#${attempt}`)) return;
  turn.slots.take(plan);
  turn.reserve(plan.path, holdMicros);
  turn.start(step);
  const { path, model } = plan;
  const { input } = ready;
  turn.events.push({ type: "chat.intended", step: path, attempt, model, input, holdMicros });
  turn.issue({ type: "chat", step: path, attempt, model, input, maxCostMicros: holdMicros });
}
