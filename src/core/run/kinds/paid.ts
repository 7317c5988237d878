import type { StepEnd } from "../../journal/events.ts";
import { type AttemptState, isStepFinal, lastAttempt, type OutputState, type StepState } from "../../journal/state.ts";
import { ownText } from "../../kit/clean-text.ts";
import type { JobStep } from "../../plan/kinds/job.ts";
import { type Json, type PlanStep, traitsOf } from "../../plan/plan.ts";
import { type Command, commandId } from "../command.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { raisedHold, unpriced } from "../money.ts";
import { readiness } from "../readiness.ts";
import { awaitCacheLookup, requestIdentity } from "../request-identity.ts";
import { restorableAttempt } from "../rerun.ts";
import { readerOf } from "../resolve.ts";
import { ERASED_AFTER_MS, isOver, uncopiedOf } from "../retention.ts";
import { ask, watchRequest } from "../waiting.ts";
import { type RunKind, type StepActivity, stretch } from "./kind.ts";

export const DECLARED_LOST = ownText("someone confirmed that nothing was generated");
const NEVER = Number.POSITIVE_INFINITY;

export type PaidStep = Extract<PlanStep, { readonly model: string }>;

export interface PaidKind<S extends PaidStep> {
  readonly activity: StepActivity;
  readonly sends: Command["type"];
  /** The attempt's field with the time at which work on the request began. */
  readonly worksFrom: "intendedAt" | "submittedAt";
  /**
   * Sends the step's next request, or prepares it. `last` is the latest attempt, which failed or was not sent; null if
   * there is none.
   */
  begin(plan: S, step: StepState, last: AttemptState | null, builder: DecisionBuilder): void;
  /** Handles a request that may have been sent, but whose response no process is waiting for. */
  unanswered(plan: S, step: StepState, attempt: AttemptState, builder: DecisionBuilder): void;
  poll?(plan: S, attempt: AttemptState): Command;
  result(attempt: AttemptState): { readonly status: StepEnd; readonly reason: string | null };
  retry(plan: S, step: StepState, attempt: AttemptState, builder: DecisionBuilder): Retry;
  /** Looks again for the outcome of an unresolved attempt. Without this method, only a person can resolve it. */
  unresolved?(plan: S, attempt: AttemptState, builder: DecisionBuilder): void;
}

export type Retry = { readonly at: number } | { readonly never: string };

export function paidKind<S extends PaidStep>(kind: PaidKind<S>): RunKind<S> {
  return {
    decide: (plan, step, builder) => {
      collectOutputs(plan, step, builder);
      decide(kind, plan, step, builder);
    },
    activity: kind.activity,
    span: null,
    localInputs: () => [],
    workedSpan: (step) => {
      const attempt = lastAttempt(step);
      return attempt?.phase === "completed" ? stretch(attempt[kind.worksFrom], attempt.completedAt) : null;
    },
    freeResult: () => null,
  };
}

function decide<S extends PaidStep>(kind: PaidKind<S>, plan: S, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.reusedFrom !== null) return builder.finish(step, "succeeded");
  const attempt = lastAttempt(step);
  switch (attempt?.phase) {
    case undefined:
    case "planned":
    case "priced":
      if (builder.mayStart) kind.begin(plan, step, attempt, builder);
      return;
    case "submitting.sent":
    case "submitting.unknown":
      if (!builder.isActive(`${kind.sends}:${plan.path}#${attempt!.n}`)) kind.unanswered(plan, step, attempt!, builder);
      else watchRequest(plan, step, builder);
      return;
    case "inQueue":
    case "inProgress":
      return ask(kind.poll!(plan, attempt!), plan, step, builder);
    case "completed": {
      const { status, reason } = kind.result(attempt!);
      return builder.finish(step, status, reason);
    }
    case "failed":
    case "refused":
    case "abandoned":
      return failed(kind, plan, { step, attempt: attempt! }, builder);
    case "lost":
      return builder.finish(step, "failed", DECLARED_LOST);
    case "unresolved":
      return kind.unresolved?.(plan, attempt!, builder);
    default:
      attempt?.phase satisfies undefined;
  }
}

function failed<S extends PaidStep>(
  kind: PaidKind<S>,
  plan: S,
  { step, attempt }: { readonly step: StepState; readonly attempt: AttemptState },
  builder: DecisionBuilder,
): void {
  const { n, money, jobId } = attempt;
  const isBillAwaited = money === "held" && builder.context.notBefore.get(`settle:${plan.path}#${n}`) !== NEVER;
  if (isBillAwaited) return builder.issue({ type: "settle", step: plan.path, attempt: n, jobId: jobId! });
  const retry = kind.retry(plan, step, attempt, builder);
  if ("never" in retry) return builder.finish(step, "failed", retry.never);
  if (!builder.mayStart) return;
  if (retry.at > builder.context.now) return builder.wake(retry.at);
  kind.begin(plan, step, attempt, builder);
}

interface UnquotedRequest {
  readonly attempt: number;
  readonly input: Json;
  readonly allowedMicros: number;
  readonly holdMicros: number;
}

/**
 * Begins a request that has no quote, and reserves its maximum cost. `spentMicros` is the part of the maximum that is
 * already spent.
 */
export function beginUnquoted(
  plan: Exclude<PaidStep, JobStep>,
  step: StepState,
  builder: DecisionBuilder,
  spentMicros: number,
  send: (request: UnquotedRequest) => void,
): void {
  const { path, model, policy } = plan;
  const last = lastAttempt(step);
  const attempt = last?.phase === "priced" ? last.n : step.attempts.length + 1;
  const isDue = builder.dueOrWake(`${plan.kind}:${path}#${attempt}`) && !builder.index.isHeldBack(path);
  if (!isDue || !builder.hasSlot(plan)) return builder.skipIfImpossible(plan, step);
  const { state } = builder;
  const ready = readiness(state, plan, plan.input, readerOf(plan));
  if (ready.ready === "no") return;
  if (ready.ready === "never") return builder.skipOrFail(step, ready.reason, ready.skippedByCondition);
  const { input } = ready;
  if (restoreIfUnchanged(plan, step, input, builder) || awaitCacheLookup(plan, step, input, builder)) return;
  const most = policy.maxCostMicros ?? state.maxUnquotedMicros;
  if (most === null) return builder.pause("budget", unpriced(path, model, "has no known price or maxCost"));
  const allowedMicros = spentMicros === 0 ? most : Math.max(1, most - spentMicros);
  const holdMicros = raisedHold(state, model, { quotedMicros: null, holdMicros: allowedMicros });
  if (!builder.checkBudget(step, holdMicros, "", traitsOf(plan).provider === null ? "wallet" : "provider")) return;
  builder.reserve(plan, step, holdMicros);
  send({ attempt, input, allowedMicros, holdMicros });
}

export function restoreIfUnchanged(plan: PaidStep, step: StepState, input: Json, builder: DecisionBuilder): boolean {
  const former = restorableAttempt(step);
  if (former?.input == null || former.outputs.some((output) => output.phase === "expired")) return false;
  const { state } = builder;
  if (requestIdentity(state, plan, former.input).fingerprint !== requestIdentity(state, plan, input).fingerprint)
    return false;
  builder.start(step);
  builder.events.push({ type: "step.restored", step: plan.path, attempt: former.n });
  return true;
}

export function resultOfOutputs({ outputs }: AttemptState): ReturnType<PaidKind<PaidStep>["result"]> {
  const bad = outputs.filter((output) => output.status !== "COMPLETED");
  if (bad.length === 0 && outputs.length > 0) return { status: "succeeded", reason: null };
  const reason = bad[0] === undefined ? "the job completed without any output" : whyBad(bad[0]);
  if (bad.length === outputs.length) return { status: "failed", reason };
  return { status: "partial", reason: `${bad.length} of ${outputs.length} outputs failed: ${reason}` };
}

function whyBad({ index, status, error }: OutputState): string {
  if (status === "EXPIRED") return `output ${index} expired on the service before it could be copied`;
  return error?.message ?? `output ${index} failed; the service gave no reason`;
}

/**
 * Returns whether the service has definitely erased the output. Uses the earlier of this machine's and the service's
 * time, because their clocks may differ.
 */
function isErased(output: OutputState, { context: { now, clockOffsetMs = 0 } }: DecisionBuilder): boolean {
  return isOver(output, Math.min(now, now + clockOffsetMs) - ERASED_AFTER_MS);
}

/** Asks for the bills and outputs of all attempts. Earlier attempts are included, because they were paid for too. */
export function collectOutputs(plan: PlanStep, step: StepState, builder: DecisionBuilder): void {
  for (const attempt of step.attempts) {
    const isLeft = attempt.n < step.attempts.length || isStepFinal(step.status);
    const isOver = attempt.phase === "completed" || (attempt.phase === "failed" && isLeft);
    if (!isOver) continue;
    const target = { step: plan.path, attempt: attempt.n, jobId: attempt.jobId! };
    if (attempt.money === "held") builder.issue({ type: "settle", ...target });
    const wanted = attempt.outputs.filter(({ phase, voiceId }) => {
      return voiceId === null && (phase === "lapsed" || (phase === "available" && traitsOf(plan).keeps));
    });
    for (const output of wanted) copyOutput(output, target, builder);
  }
  const jobId = step.reusedFrom?.jobId ?? null;
  if (step.outputs === null || jobId === null) return;
  for (const output of uncopiedOf(plan, step)) copyOutput(output, { step: plan.path, attempt: 0, jobId }, builder);
}

function copyOutput(
  output: OutputState,
  { step, attempt, jobId }: { readonly step: string; readonly attempt: number; readonly jobId: string },
  builder: DecisionBuilder,
): void {
  const { index } = output;
  const download = { type: "download", step, attempt, jobId, index } as const;
  if (builder.context.notBefore.get(commandId(download)) !== NEVER) builder.issue(download);
  else if (isErased(output, builder)) builder.events.push({ type: "output.expired", step, attempt, index });
  else builder.watch();
}
