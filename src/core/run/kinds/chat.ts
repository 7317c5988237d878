import { type AttemptState, costOf, ownAttempts, type StepState } from "../../journal/state.ts";
import { formatUsd } from "../../kit/money.ts";
import type { ChatStep } from "../../plan/kinds/chat.ts";
import type { Json } from "../../plan/plan.ts";
import { beginUnquoted, paidKind } from "./paid.ts";

/** The step fails after this many unanswered requests, all of which may have been charged. */
const MOST_UNANSWERED = 5;
/** Maximum number of times that an unanswered request is resent without a person's decision. */
const REPEATED_UNASKED = 1;
const FREE_RETRIES = 2;
/**
 * Codes of errors that are not caused by the request. A request refused with one of these codes is retried without
 * limit.
 */
const WAITED_OUT = new Set(["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INSUFFICIENT_BALANCE", "UNSENT", "ACCOUNT_REFUSED"]);
const LONGEST_WAIT_MS = 30_000;

/** Handles chat requests. An unanswered request is resent automatically at most once, as it may have been charged. */
export const chatKind = paidKind<ChatStep>({
  activity: "asking",
  sends: "chat",
  worksFrom: "intendedAt",
  begin: (plan, step, last, builder) => {
    const { path, model } = plan;
    const unanswered = unansweredOf(step);
    if (unanswered > REPEATED_UNASKED && last?.phase === "abandoned" && last.mayRepeat !== true) {
      const message = `${path}: ${model} did not answer ${unanswered} requests; each may have cost up to ${formatUsd(last.holdMicros)} USD. To send the request once more, resume the run; to see what was charged, run: showrunner reconcile`;
      return builder.pause("unanswered", message);
    }
    const repairs = toRepair(plan, step);
    // A request and the requests that repair its answer share one maximum cost.
    beginUnquoted(plan, step, builder, costOf(repairs), ({ attempt, allowedMicros, holdMicros, ...ready }) => {
      const input = withRepairs(ready.input, repairs);
      builder.events.push({ type: "chat.intended", step: path, attempt, model, input, holdMicros });
      builder.issue({ type: "chat", step: path, attempt, model, input, maxCostMicros: allowedMicros });
    });
  },
  unanswered: ({ path: step }, _step, { n: attempt, holdMicros }, builder) => {
    builder.events.push({ type: "chat.abandoned", step, attempt, holdMicros });
  },
  result: ({ costMicros, expectedMicros }) => {
    const isAbove = costMicros! > expectedMicros!;
    const above = `cost ${formatUsd(costMicros!)} USD, more than the ${formatUsd(expectedMicros!)} USD allowed`;
    return { status: "succeeded", reason: isAbove ? above : null };
  },
  retry: (plan, step, attempt) => {
    const never = whyNever(plan, step, attempt);
    return never === null ? { at: retryAt(step, attempt) } : { never };
  },
});

function unansweredOf(step: StepState): number {
  return ownAttempts(step).filter(({ phase }) => phase === "abandoned").length;
}

function whyNever(plan: ChatStep, step: StepState, last: AttemptState): string | null {
  const chats = ownAttempts(step);
  const unanswered = unansweredOf(step);
  if (plan.once === true && unanswered > 0)
    return "the request was never answered but may have been charged, so it will not be sent again";
  if (unanswered >= MOST_UNANSWERED) return `${unanswered} requests were never answered; each may have been charged`;
  const { error } = last;
  if (last.phase !== "failed" || error === null) return null;
  const message = `${error.code}: ${error.message}`;
  if (last.answer !== undefined) {
    const answers = chats.filter(({ answer }) => answer !== undefined).length;
    if (answers >= (plan.repairs + 1) * plan.policy.attempts) return message;
    return costOf(toRepair(plan, step)) < maxCost(plan, last) ? null : `${message} (the step has reached its maxCost)`;
  }
  if (WAITED_OUT.has(error.code)) return null;
  const refused = chats.filter((chat) => chat.phase === "failed" && !WAITED_OUT.has(chat.error?.code ?? "")).length;
  const most = last.costMicros === 0 ? Math.max(plan.policy.attempts, 1 + FREE_RETRIES) : plan.policy.attempts;
  return error.retryable && refused < most ? null : message;
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

function retryAt(step: StepState, { answer, completedAt }: AttemptState): number {
  if (answer !== undefined) return 0;
  const failures = ownAttempts(step).filter((attempt) => attempt.answer === undefined).length;
  return completedAt! + Math.min(LONGEST_WAIT_MS, 1000 * 2 ** (failures - 1));
}
