import {
  type AttemptState,
  costOf,
  isStepFinal,
  lastAttempt,
  ownAttempts,
  type StepState,
} from "../../journal/state.ts";
import { formatUsd } from "../../kit/money.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import type { ChatStep, Json } from "../../plan/plan.ts";
import { unpriced } from "../budget-pause.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { raisedHold } from "../headroom.ts";
import { readiness } from "../readiness.ts";
import { awaitCacheLookup } from "../request-identity.ts";
import { readerOf } from "../resolve.ts";
import { watchRequest } from "../waiting.ts";
import { type RunKind, stretch } from "./kind.ts";

/** The step fails after this many unanswered requests, all of which may have been charged. */
const MOST_UNANSWERED = 5;
/** If more requests than this were never answered, a person is asked. */
const REPEATED_UNASKED = 1;
const FREE_RETRIES = 2;
/** These refusals do not concern the request, so they are retried without limit. */
const WAITED_OUT = new Set(["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INSUFFICIENT_BALANCE", "UNSENT", "ACCOUNT_REFUSED"]);
const LONGEST_WAIT_MS = 30_000;

/** Unanswered chat requests are sent again, because their outcome cannot be looked up. */
export const chatKind: RunKind<ChatStep> = {
  decide,
  activity: "asking",
  span: null,
  localInputs: () => [],
  workedSpan: (step) => {
    const chat = lastAttempt(step);
    return chat?.phase === "completed" ? stretch(chat.intendedAt, chat.completedAt) : null;
  },
  freeResult: () => null,
};

function decide(plan: ChatStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  const last = lastAttempt(step);
  if (step.value !== undefined) return builder.finish(step, "succeeded", excess(last));
  if (last !== null && jobPhases.submitting.has(last.phase)) {
    if (builder.isActive(`chat:${plan.path}#${last.n}`)) return void watchRequest(plan, step, builder);
    builder.events.push({ type: "chat.abandoned", step: plan.path, attempt: last.n, holdMicros: last.holdMicros });
    return;
  }
  const end = endOf(plan, step);
  if (end !== null) return builder.finish(step, "failed", end);
  if (!builder.mayStart) return;
  const retryAt = nextTryAt(step, last);
  if (retryAt > builder.context.now) return builder.wake(retryAt);
  const unanswered = unansweredOf(step);
  if (unanswered > REPEATED_UNASKED && last?.phase === "abandoned" && last.mayRepeat !== true) {
    const message = `${plan.path}: ${plan.model} did not answer ${unanswered} requests; each may have been charged up to ${formatUsd(last.holdMicros)} USD. To send the request once more, resume the run; to see what was charged, run: showrunner reconcile`;
    return builder.pause("unanswered", message);
  }
  begin(plan, step, builder);
}

function unansweredOf(step: StepState): number {
  return ownAttempts(step).filter(({ phase }) => phase === "abandoned").length;
}

function endOf(plan: ChatStep, step: StepState): string | null {
  const last = lastAttempt(step);
  if (last === null) return null;
  const chats = ownAttempts(step);
  const unanswered = unansweredOf(step);
  if (plan.once === true && unanswered > 0)
    return "the request was never answered but may have been charged, so it is not sent again";
  if (unanswered >= MOST_UNANSWERED) return `${unanswered} requests were never answered; each may have been charged`;
  const { error } = last;
  if (last.phase !== "failed" || error === null) return null;
  const message = `${error.code}: ${error.message}`;
  if (last.answer !== undefined) {
    const answers = chats.filter(({ answer }) => answer !== undefined).length;
    if (answers >= (plan.repairs + 1) * plan.policy.attempts) return message;
    return costOf(toRepair(plan, step)) < maxCost(plan, last) ? null : `${message} (the step's maxCost is used up)`;
  }
  if (WAITED_OUT.has(error.code)) return null;
  const refused = chats.filter((chat) => chat.phase === "failed" && !WAITED_OUT.has(chat.error?.code ?? "")).length;
  const most = last.costMicros === 0 ? Math.max(plan.policy.attempts, 1 + FREE_RETRIES) : plan.policy.attempts;
  return error.retryable && refused < most ? null : message;
}

function begin(plan: ChatStep, step: StepState, builder: DecisionBuilder): void {
  const attempt = step.attempts.length + 1;
  if (!builder.dueOrWake(`chat:${plan.path}#${attempt}`)) return builder.skipIfImpossible(plan, step);
  if (builder.index.isHeldBack(plan.path) || !builder.hasSlot(plan)) return builder.skipIfImpossible(plan, step);
  const ready = readiness(builder.state, plan, plan.input, readerOf(plan));
  if (ready.ready === "no") return;
  if (ready.ready === "never") return builder.skipOrFail(step, ready.reason, ready.skippedByCondition);
  if (awaitCacheLookup(plan, step, ready.input, builder)) return;
  const most = plan.policy.maxCostMicros ?? builder.state.maxUnquotedMicros;
  if (most === null) {
    return builder.pause("budget", unpriced(plan.path, plan.model, "has no known price or maxCost"));
  }
  const repairs = toRepair(plan, step);
  // A request and its repairs share one maximum.
  const allowedMicros = Math.max(1, most - costOf(repairs));
  const holdMicros = raisedHold(builder.state, plan.model, { quotedMicros: null, holdMicros: allowedMicros });
  if (!builder.checkBudget(step, holdMicros)) return;
  builder.takeSlot(plan);
  builder.reserve(plan, holdMicros);
  builder.start(step);
  const { path, model } = plan;
  const input = withRepairs(ready.input, repairs);
  builder.events.push({ type: "chat.intended", step: path, attempt, model, input, holdMicros });
  builder.issue({ type: "chat", step: path, attempt, model, input, maxCostMicros: allowedMicros });
}

function toRepair(plan: ChatStep, step: StepState): readonly AttemptState[] {
  const bad = ownAttempts(step).filter(({ answer }) => answer !== undefined);
  return bad.slice(bad.length - (bad.length % (plan.repairs + 1)));
}

function withRepairs(input: Json, repairs: readonly AttemptState[]): Json {
  if (repairs.length === 0) return input;
  const body = input as { readonly messages?: readonly Json[] };
  const more = repairs.flatMap(({ answer = "", error }): Json[] => [
    ...(answer === "" ? [] : [{ role: "assistant", content: answer }]),
    { role: "user", content: `${error!.message}\nAnswer again, with nothing but the corrected JSON.` },
  ]);
  return { ...body, messages: [...(body.messages ?? []), ...more] };
}

function maxCost(plan: ChatStep, last: AttemptState): number {
  return plan.policy.maxCostMicros ?? last.expectedMicros!;
}

function nextTryAt(step: StepState, last: AttemptState | null): number {
  if (last === null || last.answer !== undefined || last.completedAt === null) return 0;
  const failures = ownAttempts(step).filter(({ answer }) => answer === undefined).length;
  return last.completedAt + Math.min(LONGEST_WAIT_MS, 1000 * 2 ** (failures - 1));
}

function excess(last: AttemptState | null): string | null {
  if (last === null || last.costMicros === null || last.costMicros <= last.expectedMicros!) return null;
  return `cost ${formatUsd(last.costMicros)} USD, more than the ${formatUsd(last.expectedMicros!)} USD allowed`;
}
