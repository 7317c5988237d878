import { ownText } from "../../clean-text.ts";
import { raisedHold } from "../../journal/overcharge.ts";
import { type AttemptState, isStepFinal, lastAttempt, RESENT_EVERY_MS, type StepState } from "../../journal/state.ts";
import { formatUsd } from "../../money.ts";
import type { JobStep, Json, PlanStep } from "../../plan/plan.ts";
import { asked } from "../asked.ts";
import { commandId } from "../command.ts";
import { isWaitedFor } from "../copies.ts";
import { idempotencyKey } from "../key.ts";
import { looksBack } from "../look-back.ts";
import { whyRaised } from "../raised-holds.ts";
import { readiness } from "../readiness.ts";
import { formerAttempt } from "../remake.ts";
import type { Turn } from "../turn.ts";
import { isWanted } from "../wanted.ts";

/** Free new attempts after a failure that was refunded and may pass. */
const FREE_RETRIES = 2;
/** One call of the client sends for up to 15 minutes, which with this makes {@link RESENT_EVERY_MS}. */
const RESENT_NOTE_MS = RESENT_EVERY_MS - 15 * 60_000;
const NEVER_RETRIED = new Set(["INVALID_ARGUMENT", "MODERATION_FAILED", "FAILED_PRECONDITION", "CANCELLED"]);

/** A paid job: quoted, held for, submitted once per attempt, followed, settled, copied. */
export function jobStep(plan: JobStep, step: StepState, turn: Turn): void {
  takeIn(plan, step, turn);
  if (isStepFinal(step.status)) return;
  if (step.reusedFrom !== null) return turn.finish(step, "succeeded");
  const attempt = lastAttempt(step);
  if (attempt === null) {
    if (turn.mayBegin) begin(plan, step, null, turn);
    return;
  }
  switch (attempt.phase) {
    case "planned":
    case "priced":
      if (turn.mayBegin) begin(plan, step, attempt, turn);
      return;
    case "submitting.sent":
    case "submitting.unknown":
      return resend(plan, attempt, turn);
    case "inQueue":
    case "inProgress":
      return turn.issue({ type: "follow", step: plan.path, attempt: attempt.n, jobId: attempt.jobId! });
    case "completed":
      return completed(step, attempt, turn);
    case "failed":
      return failed(plan, step, attempt, turn);
    case "refused":
      return turn.finish(step, "failed", attempt.error?.message ?? "the service refused it");
    case "lost":
      return turn.finish(step, "failed", "declared lost");
    case "unresolved":
      return lookAgain(plan, attempt, turn);
    default:
      attempt.phase satisfies never;
  }
}

function begin(plan: JobStep, step: StepState, attempt: AttemptState | null, turn: Turn): void {
  const { state } = turn;
  const ready = readiness(state, plan, plan.input);
  if (ready.ready === "no") return;
  if (ready.ready === "never") return turn.giveUp(step, ready.reason, ready.unwanted);
  if (madeOfTheSame(plan, step, ready.input, turn)) return;
  if (looksBack(plan, step, ready.input, turn)) return;
  const n = attempt?.n ?? step.attempts.length + 1;
  const quote = attempt?.quote ?? null;
  if (quote === null || quote.basis === "provisional") {
    return turn.issue({ type: "quote", step: plan.path, attempt: n, model: plan.model, input: ready.input });
  }
  const { maxCostMicros } = plan.policy;
  const expectedMicros = quote.costMicros ?? maxCostMicros ?? state.maxUnquotedMicros;
  if (expectedMicros === null) {
    const message = `${plan.path} (${plan.model}) cannot be quoted in advance and has no maxCost. Set maxCost on the step, or resume with --max-unquoted USD.`;
    return turn.pause("budget", message);
  }
  const quotedMicros = quote.costMicros;
  const holdMicros = raisedHold(state, plan.model, { quotedMicros, holdMicros: expectedMicros });
  const why = whyRaised(plan.model, quotedMicros, holdMicros);
  if (maxCostMicros !== null && quotedMicros !== null && holdMicros > maxCostMicros) {
    turn.start(step);
    const over = `costs ${formatUsd(holdMicros)} USD${why}, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
    return turn.finish(step, "failed", over);
  }
  if (!turn.slots.free(plan) || !turn.affords(step, holdMicros, why)) return;
  if (turn.isOpen(`submit:${plan.path}#${n}`)) submit(plan, step, { n, input: ready.input, holdMicros }, turn);
}

/** Takes back what the step made before it was reset, if what it uses now is just what it used then. */
function madeOfTheSame(plan: JobStep, step: StepState, input: Json, turn: Turn): boolean {
  const former = formerAttempt(step);
  if (former?.input == null || former.outputs.some((output) => output.phase === "expired")) return false;
  const { state } = turn;
  if (asked(state, plan, former.input).fingerprint !== asked(state, plan, input).fingerprint) return false;
  turn.start(step);
  turn.events.push({ type: "step.restored", step: plan.path, attempt: former.n });
  return true;
}

function submit(
  plan: JobStep,
  step: StepState,
  send: { readonly n: number; readonly input: JobStep["input"]; readonly holdMicros: number },
  turn: Turn,
): void {
  turn.slots.take(plan);
  turn.reserve(plan.path, send.holdMicros);
  turn.start(step);
  const { model, path } = plan;
  const { n: attempt, input, holdMicros } = send;
  const key = idempotencyKey({ nonce: turn.state.planned.nonce, step: path, attempt, model, input });
  const { clockOffsetMs = 0 } = turn.context;
  turn.events.push({ type: "job.submit.intended", step: path, attempt, key, model, input, holdMicros, clockOffsetMs });
  turn.issue({ type: "submit", step: path, attempt, key, model, input, mayExist: false });
}

/** Sent, no answer known: the same body under the same key, until an acknowledgement comes. */
function resend(plan: JobStep, attempt: AttemptState, turn: Turn): void {
  const { n, key, model, input, lastSentAt } = attempt;
  const target = { step: plan.path, attempt: n };
  const id = `submit:${plan.path}#${n}`;
  if (turn.isActive(id)) return;
  const isUnsent = turn.context.unsent?.has(id) === true;
  if (isUnsent && !turn.mayBegin) {
    turn.events.push({ type: "job.submit.withdrawn", ...target, reason: "unsent" });
    return;
  }
  if (!isUnsent && isTooOld(attempt, turn)) {
    const message = ownText("its submit was never answered, and its idempotency key is too old to be sent again");
    turn.events.push({ type: "job.unresolved", ...target, message, cause: "too old" });
    return;
  }
  if (!turn.isOpen(id)) return;
  const { now, clockOffsetMs = 0 } = turn.context;
  // Also where nothing left so far: this send may, and a death after it must not hide its job from those who look for it.
  if (now - lastSentAt! > RESENT_NOTE_MS) {
    turn.events.push({ type: "job.submit.resent", ...target, clockOffsetMs });
  }
  turn.issue({ type: "submit", ...target, key: key!, model: model!, input: input!, mayExist: !isUnsent });
}

function isTooOld({ intendedAt }: AttemptState, { context }: Turn): boolean {
  return context.now - intendedAt! > context.idempotencyWindowMs;
}

/** Once in every drive: its key may have an answer now, its job may be shown again. Else a person decides. */
function lookAgain(plan: JobStep, attempt: AttemptState, turn: Turn): void {
  const { n, jobId, unresolved } = attempt;
  if (unresolved === "not found") turn.issue({ type: "follow", step: plan.path, attempt: n, jobId: jobId! });
  if (unresolved === "refused" && !isTooOld(attempt, turn)) resend(plan, attempt, turn);
}

function completed(step: StepState, attempt: AttemptState, turn: Turn): void {
  const bad = attempt.outputs.filter((output) => output.status !== "COMPLETED");
  if (bad.length === 0 && attempt.outputs.length > 0) return turn.finish(step, "succeeded");
  const reason = bad[0]?.error?.message ?? "the job yielded no output";
  if (bad.length === attempt.outputs.length) return turn.finish(step, "failed", reason);
  turn.finish(step, "partial", `${bad.length} of ${attempt.outputs.length} outputs failed: ${reason}`);
}

function failed(plan: JobStep, step: StepState, attempt: AttemptState, turn: Turn): void {
  if (attempt.money === "held") {
    const id = `settle:${plan.path}#${attempt.n}`;
    if (turn.context.notBefore.get(id) !== Number.POSITIVE_INFINITY) {
      return turn.issue({ type: "settle", step: plan.path, attempt: attempt.n, jobId: attempt.jobId! });
    }
  }
  const { error } = attempt;
  const tries = attempt.n - step.voided;
  const free = attempt.costMicros === 0 && error?.retryable === true && tries <= FREE_RETRIES;
  const again = (free || tries < plan.policy.attempts) && !NEVER_RETRIED.has(error?.code ?? "");
  if (!again || turn.stoppedBy !== null || !isWanted(turn.state, plan.path)) {
    return turn.finish(step, "failed", error === null ? "the job failed" : `${error.code}: ${error.message}`);
  }
  if (!turn.mayBegin) return;
  const retryAt = attempt.completedAt! + 1000 * 2 ** tries;
  if (retryAt > turn.context.now) return turn.wake(retryAt);
  const { costMicros, basis } = attempt.quote!;
  turn.events.push({ type: "job.quoted", step: plan.path, attempt: attempt.n + 1, costMicros, basis });
}

/**
 * Outputs are copied as soon as they exist, and costs learnt, whatever becomes of the run: of attempts that do not count
 * any more and of steps that are gone from the plan too, for they are paid.
 */
export function takeIn(plan: PlanStep, step: StepState, turn: Turn): void {
  for (const attempt of step.attempts) {
    const isLeft = attempt.n < step.attempts.length || isStepFinal(step.status);
    const isOver = attempt.phase === "completed" || (attempt.phase === "failed" && isLeft);
    if (!isOver) continue;
    const target = { step: plan.path, attempt: attempt.n, jobId: attempt.jobId! };
    if (attempt.money === "held") turn.issue({ type: "settle", ...target });
    if (plan.kind === "job" && !plan.policy.keep) continue;
    for (const output of attempt.outputs) {
      if (output.phase !== "available" || output.voiceId !== null) continue;
      const download = { type: "download", ...target, index: output.index } as const;
      if (turn.context.notBefore.get(commandId(download)) !== Number.POSITIVE_INFINITY) turn.issue(download);
      else if (turn.mayBegin && isWaitedFor(turn.state, { step: plan.path, output })) {
        turn.events.push({ type: "output.expired", step: plan.path, attempt: attempt.n, index: output.index });
      }
    }
  }
}
