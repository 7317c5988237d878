import { type AttemptState, isStepFinal, RESENT_EVERY_MS, type StepState } from "../../journal/state.ts";
import { formatDuration } from "../../kit/duration.ts";
import { formatUsd } from "../../kit/money.ts";
import type { JobStep } from "../../plan/kinds/job.ts";
import { type Command, commandId } from "../command.ts";
import type { DecideContext, DecisionBuilder } from "../decision-builder.ts";
import { raisedHold, unpriced, whyRaised } from "../money.ts";
import { conditionsOf } from "../pruning.ts";
import { gateOf, readiness } from "../readiness.ts";
import { awaitCacheLookup, idempotencyKey, isTooOld, TOO_OLD } from "../request-identity.ts";
import { lapsed } from "../retention.ts";
import { AWAY, awayMsOf } from "../second-choice.ts";
import { paidKind, restoreIfUnchanged, resultOfOutputs } from "./paid.ts";

const FREE_RETRIES = 2;
const QUOTE_LIFE_MS = 5 * 60_000;
/** Minimum interval at which repeated submit requests of an attempt are recorded, in milliseconds. */
const RESENT_NOTE_MS = RESENT_EVERY_MS - 15 * 60_000;
const NEVER_RETRIED = new Set(["INVALID_ARGUMENT", "MODERATION_FAILED", "FAILED_PRECONDITION", "CANCELLED"]);

export const jobKind = paidKind<JobStep>({
  activity: "pricing",
  sends: "submit",
  worksFrom: "submittedAt",
  begin: (plan, step, last, builder) => {
    if (giveWay(plan, step, last, builder)) return;
    if (last?.phase === "failed") quoteAgain(plan, step, last, builder);
    else begin(plan, step, last, builder);
  },
  // A lost response, a 503, and a process that was killed while it submitted all lead here.
  unanswered: (plan, step, attempt, builder) => {
    if (!giveWay(plan, step, attempt, builder)) resend(plan, attempt, builder);
  },
  poll: ({ path }, { n, jobId }) => ({ type: "follow", step: path, attempt: n, jobId: jobId! }),
  result: resultOfOutputs,
  retry: (plan, step, { n, phase, error, costMicros, completedAt }, builder) => {
    if (phase === "refused") return { never: error?.message ?? "the service refused the request" };
    const tries = n - step.superseded;
    const free = costMicros === 0 && error?.retryable === true && tries <= FREE_RETRIES;
    const again = (free || tries < plan.policy.attempts) && !NEVER_RETRIED.has(error?.code ?? "");
    if (again && builder.mayRetry(plan)) return { at: completedAt! + 1000 * 2 ** tries };
    return { never: error === null ? "the job failed" : `${error.code}: ${error.message}` };
  },
  unresolved: recheckUnresolved,
});

function begin(plan: JobStep, step: StepState, attempt: AttemptState | null, builder: DecisionBuilder): void {
  const { state } = builder;
  const ready = readiness(state, plan, plan.input);
  if (ready.ready === "no") return checkMedia(plan, attempt, builder);
  if (ready.ready === "never") return builder.skipOrFail(step, ready.reason, ready.skippedByCondition);
  if (replaceLapsed(plan, builder)) return;
  if (restoreIfUnchanged(plan, step, ready.input, builder)) return;
  if (awaitCacheLookup(plan, step, ready.input, builder)) return;
  const n = attempt?.n ?? step.attempts.length + 1;
  const quote = attempt?.quote ?? null;
  const isOpen = quote === null || quote.basis === "provisional" || quote.conditionalOn !== undefined;
  if (isOpen || isOutdated(attempt, builder)) {
    return askPrice(
      { type: "quote", step: plan.path, attempt: n, model: plan.model, input: ready.input },
      plan,
      builder,
    );
  }
  const { maxCostMicros } = plan.policy;
  const expectedMicros = quote.costMicros ?? maxCostMicros ?? state.maxUnquotedMicros;
  if (expectedMicros === null) {
    return builder.pause("budget", unpriced(plan.path, plan.model, "cannot be quoted in advance and has no maxCost"));
  }
  const quotedMicros = quote.costMicros;
  const holdMicros = raisedHold(state, plan.model, { quotedMicros, holdMicros: expectedMicros });
  const why = whyRaised(plan.model, quotedMicros, holdMicros);
  if (maxCostMicros !== null && quotedMicros !== null && holdMicros > maxCostMicros) {
    builder.start(step);
    const over = `costs ${formatUsd(holdMicros)} USD${why}, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
    return builder.finish(step, "failed", over);
  }
  // This check comes before the slot and the money are taken. While this step waits, other steps may use both.
  if (builder.index.isHeldBack(plan.path) || !builder.dueOrWake(`submit:${plan.path}#${n}`)) return;
  if (!builder.hasSlot(plan) || !builder.checkBudget(step, holdMicros, why)) return;
  submit(plan, step, { n, input: ready.input, holdMicros }, builder);
}

/** Records the inputs that have expired on the service, and returns whether there are any. */
function replaceLapsed(plan: JobStep, { state, context, events }: DecisionBuilder): boolean {
  const over = lapsed(state, plan, context.now + (context.clockOffsetMs ?? 0));
  events.push(...over);
  return over.length > 0;
}

function isOutdated(attempt: AttemptState | null, { state, context }: DecisionBuilder): boolean {
  const quotedAt = attempt?.quotedAt ?? 0;
  return quotedAt < (state.drivenSince ?? 0) && context.now - quotedAt > QUOTE_LIFE_MS;
}

/** Checks whether the model accepts the existing media before the run pays for the missing media. */
function checkMedia(plan: JobStep, attempt: AttemptState | null, builder: DecisionBuilder): void {
  const { steps } = builder.state;
  const isThere = conditionsOf(plan, attempt).some((path) => isStepFinal(steps[path]!.status));
  if (!isThere || replaceLapsed(plan, builder)) return;
  builder.issue({ type: "quote", step: plan.path, attempt: attempt!.n, model: plan.model, input: plan.input });
}

/**
 * Requests the job's price. The step takes its slot at once, so that other work cannot occupy the slot in the meantime.
 */
function askPrice(quote: Command & { readonly type: "quote" }, plan: JobStep, builder: DecisionBuilder): void {
  builder.issue(quote);
  const isAsked = builder.isActive(commandId(quote)) || builder.commands.includes(quote);
  if (!isAsked || !builder.hasSlot(plan)) return;
  builder.takeSlot(plan);
  builder.watch();
}

function submit(
  plan: JobStep,
  step: StepState,
  send: { readonly n: number; readonly input: JobStep["input"]; readonly holdMicros: number },
  builder: DecisionBuilder,
): void {
  builder.reserve(plan, step, send.holdMicros);
  const { model, path } = plan;
  const { n: attempt, input, holdMicros } = send;
  const key = idempotencyKey({ nonce: builder.state.planned.nonce, step: path, attempt, model, input });
  const { clockOffsetMs = 0 } = builder.context;
  builder.events.push({
    type: "job.submit.intended",
    step: path,
    attempt,
    key,
    model,
    input,
    holdMicros,
    clockOffsetMs,
  });
  builder.issue({ type: "submit", step: path, attempt, key, model, input, mayExist: false });
}

function resend(plan: JobStep, attempt: AttemptState, builder: DecisionBuilder): void {
  const { n, key, model, input, lastSentAt, phase } = attempt;
  const target = { step: plan.path, attempt: n };
  const id = `submit:${plan.path}#${n}`;
  const isWithheld = isUnsent(builder.context, plan.path, attempt);
  // A person decides about an unresolved attempt, even if its step has changed meanwhile.
  const isReplaced = phase !== "unresolved" && builder.state.pause?.replaced?.includes(plan.path) === true;
  if (isWithheld && !builder.mayStart) {
    builder.events.push({ type: "job.submit.withdrawn", ...target, reason: "unsent" });
    return;
  }
  if (isWithheld && replaceLapsed(plan, builder)) {
    builder.events.push({ type: "job.submit.withdrawn", ...target, reason: "expired" });
    return;
  }
  if (!isWithheld && isTooOld(attempt, builder)) {
    builder.events.push({ type: "job.unresolved", ...target, message: TOO_OLD, cause: "too old" });
    return;
  }
  // Until the request is due, every decision checks it again, because its key may become too old.
  if (!builder.dueOrWake(id)) return builder.watch();
  const { now, clockOffsetMs = 0 } = builder.context;
  // This is recorded even if nothing was sent so far. The process may crash after sending the request, and a search
  // must then find its job.
  if (now - lastSentAt! > RESENT_NOTE_MS) {
    builder.events.push({ type: "job.submit.resent", ...target, clockOffsetMs });
  }
  const request = { ...target, key: key!, model: model!, input: input!, mayExist: !isWithheld };
  builder.issue({ type: "submit", ...request, ...(isReplaced && { isReplaced }) });
}

/** Keeps asking the service about an unresolved attempt until a person decides. */
function recheckUnresolved(plan: JobStep, attempt: AttemptState, builder: DecisionBuilder): void {
  const { n, jobId, unresolved } = attempt;
  const isKnown = unresolved === "not found" || unresolved === "incomplete";
  if (isKnown) builder.issue({ type: "follow", step: plan.path, attempt: n, jobId: jobId! });
  const mayResend = unresolved === "refused" && !isTooOld(attempt, builder);
  if (mayResend && !builder.isActive(`submit:${plan.path}#${n}`)) resend(plan, attempt, builder);
}

/** Begins another attempt. It uses the failed attempt's quote if that quote is recent. */
function quoteAgain(plan: JobStep, step: StepState, failed: AttemptState, builder: DecisionBuilder): void {
  if (builder.context.now - failed.quotedAt! > QUOTE_LIFE_MS) return begin(plan, step, null, builder);
  const { costMicros, basis } = failed.quote!;
  builder.events.push({ type: "job.quoted", step: plan.path, attempt: failed.n + 1, costMicros, basis });
}

/**
 * Lets the next option start if the service has been unavailable for too long: withdraws a submission that was not
 * sent, or fails a step that has not been submitted. Returns true if it did so.
 */
function giveWay(plan: JobStep, step: StepState, attempt: AttemptState | null, builder: DecisionBuilder): boolean {
  const { outage } = builder.state;
  const awayMs = outage === null || !builder.mayStart ? null : awayMsOf(builder.state, plan.path);
  if (outage === null || awayMs === null) return false;
  const { phase = "planned", n = 1 } = attempt ?? {};
  const isWithheld = isUnsent(builder.context, plan.path, { n, phase });
  if (!isWithheld && phase !== "planned" && phase !== "priced") return false;
  if (gateOf(builder.state, plan) !== null) return false;
  const endsAt = outage.since + awayMs;
  if (builder.context.now < endsAt) {
    builder.wake(endsAt);
    return false;
  }
  if (isWithheld) {
    builder.events.push({ type: "job.submit.withdrawn", step: plan.path, attempt: n, reason: "unsent" });
    return true;
  }
  builder.start(step);
  builder.finish(
    step,
    "failed",
    `${AWAY} for ${formatDuration(builder.context.now - outage.since)}: ${outage.message}`,
  );
  return true;
}

export function isUnsent(
  { unsent, active }: DecideContext,
  path: string,
  { n, phase }: Pick<AttemptState, "n" | "phase">,
): boolean {
  const id = `submit:${path}#${n}`;
  return phase === "submitting.sent" && unsent?.has(id) === true && !active.has(id);
}
