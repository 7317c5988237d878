import { activeMs } from "../journal/active-time.ts";
import { lastAttempt, lastChat, type RunState, type StepState } from "../journal/state.ts";
import type { Took } from "../journal/store.ts";
import { traitsOf } from "../plan/index.ts";
import type { Json, PlanStep } from "../plan/plan.ts";
import { workOf } from "../plan/work.ts";

/**
 * How long a finished step took: its job from the acceptance on, so that waits for slots, money, people and rate limits do
 * not count. Null where nothing ran, or where it was in flight at `since`, when this process took the run over: nobody
 * looked for its end then.
 */
export function tookOf(state: RunState, plan: PlanStep, since: number): Took | null {
  const step = state.steps[plan.path]!;
  const isOwn = step.status === "succeeded" && step.reusedFrom === null && traitsOf(plan).modality !== null;
  const span = isOwn ? spanOf(plan, step) : null;
  if (span === null || (span.from < since && span.to >= since)) return null;
  const ms = Math.max(1, Math.round(span.to - span.from));
  if (ms > activeMs(state)) return null;
  const { settings, amount } = "model" in plan ? workOf(plan, span.input) : { settings: "", amount: 1 };
  return amount === null ? null : { ms, settings, amount };
}

function spanOf(plan: PlanStep, step: StepState) {
  if (plan.kind === "chat") {
    const chat = lastChat(step);
    return chat?.phase === "answered" && chat.endedAt !== null ? span(chat.sentAt, chat.endedAt, plan.input) : null;
  }
  if (plan.kind !== "job") return step.failures.length > 0 ? null : span(step.startedAt, step.finishedAt);
  const attempt = lastAttempt(step);
  return attempt?.phase === "completed" ? span(attempt.submittedAt, attempt.completedAt, attempt.input) : null;
}

function span(from: number | null, to: number | null, input: Json | null = null) {
  return from === null || to === null ? null : { from, to, input: input ?? undefined };
}
