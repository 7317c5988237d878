import type { RunEvent } from "../../journal/events.ts";
import { type AttemptState, isStepFinal, lastAttempt, type StepState } from "../../journal/state.ts";
import { type CleanText, ownText, sentence } from "../../kit/clean-text.ts";
import type { GenerateStep } from "../../plan/plan.ts";
import { unpriced } from "../budget-pause.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { raisedHold } from "../headroom.ts";
import { readiness } from "../readiness.ts";
import { awaitCacheLookup, idempotencyKey } from "../request-identity.ts";
import { ask, watchRequest } from "../waiting.ts";
import { completed, DECLARED_LOST, isTooOld, restoreIfUnchanged } from "./job.ts";
import { type RunKind, stretch } from "./kind.ts";

export const UNANSWERED = "UNANSWERED";
/** The provider cannot be reached or accepts no requests. */
export const AWAY = "PROVIDER_AWAY";
/** Tries that the provider refuses cost nothing. */
const FREE_TRIES = 6;
/** After this many lost responses, even a repeatable request is not sent again. */
const MOST_LOST = 3;
const LONGEST_WAIT_MS = 60_000;

export const generateKind: RunKind<GenerateStep> = {
  decide,
  activity: "working",
  span: null,
  localInputs: () => [],
  workedSpan: (step) => {
    const attempt = lastAttempt(step);
    return attempt?.phase === "completed" ? stretch(attempt.intendedAt, attempt.completedAt) : null;
  },
  freeResult: () => null,
};

export function generationId(key: string): string {
  return key.replace(/^sr1_/, "gen_");
}

function decide(plan: GenerateStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.reusedFrom !== null) return builder.finish(step, "succeeded");
  const attempt = lastAttempt(step);
  if (attempt === null) return begin(plan, step, step.attempts.length + 1, builder);
  switch (attempt.phase) {
    case "planned":
    case "priced":
      return begin(plan, step, attempt.n, builder);
    case "submitting.sent":
    case "submitting.unknown":
      if (!builder.isActive(`generate:${plan.path}#${attempt.n}`)) unanswered(plan, attempt, builder);
      else watchRequest(plan, step, builder);
      return;
    case "inQueue":
    case "inProgress":
      return ask({ type: "operation", step: plan.path, attempt: attempt.n }, plan, step, builder);
    case "completed":
      return completed(step, attempt, builder);
    case "refused":
    case "failed":
      return again(plan, step, attempt, builder);
    case "lost":
      return builder.finish(step, "failed", DECLARED_LOST);
    case "unresolved":
      // Polled once per driver, because the work may have ended meanwhile. If it has not, a person decides.
      if (attempt.operation !== undefined) builder.issue({ type: "operation", step: plan.path, attempt: attempt.n });
      return;
    case "abandoned":
      // Only chats are abandoned.
      return;
    default:
      attempt.phase satisfies never;
  }
}

function begin(plan: GenerateStep, step: StepState, attempt: number, builder: DecisionBuilder): void {
  if (!builder.mayStart) return;
  if (!builder.dueOrWake(`generate:${plan.path}#${attempt}`)) return builder.skipIfImpossible(plan, step);
  if (builder.index.isHeldBack(plan.path) || !builder.hasSlot(plan)) return builder.skipIfImpossible(plan, step);
  const { state } = builder;
  const ready = readiness(state, plan, plan.input, "local");
  if (ready.ready === "no") return;
  if (ready.ready === "never") return builder.skipOrFail(step, ready.reason, ready.skippedByCondition);
  if (restoreIfUnchanged(plan, step, ready.input, builder)) return;
  if (awaitCacheLookup(plan, step, ready.input, builder)) return;
  const most = plan.policy.maxCostMicros ?? state.maxUnquotedMicros;
  if (most === null) return builder.pause("budget", unpriced(plan.path, plan.model, "has no known price or maxCost"));
  const holdMicros = raisedHold(state, plan.model, { quotedMicros: null, holdMicros: most });
  if (!builder.checkBudget(step, holdMicros, "", "provider")) return;
  builder.takeSlot(plan);
  builder.reserve(plan, holdMicros);
  builder.start(step);
  const { path, model, provider } = plan;
  const key = idempotencyKey({ nonce: state.planned.nonce, step: path, attempt, model, input: ready.input });
  const request = { step: path, attempt, key, model, input: ready.input };
  builder.events.push(
    { type: "job.quoted", step: path, attempt, costMicros: null, basis: "unquotable" },
    { type: "job.submit.intended", ...request, holdMicros, provider },
  );
  builder.issue({ type: "generate", ...request, mayExist: false });
}

function unanswered(plan: GenerateStep, attempt: AttemptState, builder: DecisionBuilder): void {
  const target = { step: plan.path, attempt: attempt.n };
  if (plan.promise === "keyed" && !isTooOld(attempt, builder)) {
    const { key, model, input } = attempt;
    if (!builder.dueOrWake(`generate:${plan.path}#${attempt.n}`)) return builder.watch();
    return builder.issue({ type: "generate", ...target, key: key!, model: model!, input: input!, mayExist: true });
  }
  builder.events.push(...lostAnswer(plan, attempt, { why: null }));
}

/** A person must decide about a lost response, unless the step may be repeated. */
export function lostAnswer(
  { path: step, model, provider, promise, repeatable }: GenerateStep,
  { n: attempt, key, holdMicros }: Pick<AttemptState, "n" | "key" | "holdMicros">,
  { why, kept }: { readonly why: CleanText | null; readonly kept?: readonly string[] },
): readonly RunEvent[] {
  const target = { step, attempt };
  const isKeyed = promise === "keyed";
  const times = ownText(isKeyed ? "sent" : why === null ? "sent at most once" : "sent once");
  const sent = sentence`${times} to ${ownText(provider)} (${ownText(model)})`;
  const ended = isKeyed
    ? "the request's key is too old to be sent again"
    : "the process ended before a response arrived";
  const cause = why ?? ownText(ended);
  const known = ownText(kept === undefined ? "it is unknown whether anything was made or charged" : "it was made");
  const message = sentence`${sent}; ${known}: ${cause}`;
  const unfit = kept !== undefined && kept.length > 0 && { unfit: kept };
  if (repeatable !== true) return [{ type: "job.unresolved", ...target, message, cause: "no answer", ...unfit }];
  const error = { code: ownText(UNANSWERED), message, retryable: true };
  return [
    { type: "job.submitted", ...target, jobId: generationId(key!), model, replayed: false, provider },
    { type: "job.failed", ...target, error, ...unfit },
    { type: "job.settled", ...target, costMicros: holdMicros, isUnconfirmed: true },
  ];
}

function again(plan: GenerateStep, step: StepState, attempt: AttemptState, builder: DecisionBuilder): void {
  const { error } = attempt;
  const tries = step.attempts.slice(step.superseded);
  const isFree = attempt.phase === "refused" && error?.retryable === true;
  const isLost = error?.code === UNANSWERED;
  const more = isFree
    ? tries.filter(({ phase }) => phase === "refused").length < FREE_TRIES
    : isLost
      ? tries.filter((earlier) => earlier.error?.code === UNANSWERED).length < MOST_LOST
      : attempt.phase === "failed" &&
        error?.code !== "MODERATION_FAILED" &&
        tries.filter(({ phase }) => phase === "failed").length < plan.policy.attempts;
  if (!more || builder.stoppedBy !== null || !builder.isNeeded(plan.path)) {
    const message = error === null ? "the provider gave no reason for the failure" : `${error.code}: ${error.message}`;
    return builder.finish(step, "failed", message);
  }
  if (!builder.mayStart) return;
  const since = attempt.completedAt ?? attempt.lastSentAt ?? 0;
  const soonest = since + Math.min(LONGEST_WAIT_MS, 1000 * 2 ** tries.length);
  const retryAt = Math.max(soonest, error?.retryAt ?? 0);
  if (retryAt > builder.context.now) return builder.wake(retryAt);
  begin(plan, step, attempt.n + 1, builder);
}
