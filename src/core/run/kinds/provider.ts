import type { RunEvent } from "../../journal/events.ts";
import { type AttemptState, ownAttempts, type StepState } from "../../journal/state.ts";
import { type CleanText, ownText, sentence } from "../../kit/clean-text.ts";
import type { PlanStep, ProviderStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { idempotencyKey, isTooOld } from "../request-identity.ts";
import type { RunKind } from "./kind.ts";
import { beginUnquoted, type PaidKind, paidKind, type Retry } from "./paid.ts";

export const UNANSWERED = "UNANSWERED";
export const AWAY = "PROVIDER_AWAY";
/** How many times a request is tried if the provider keeps refusing it. A refused request costs nothing. */
const FREE_TRIES = 6;
/** After this many lost responses, even a repeatable request is not sent again. */
const MOST_LOST = 3;
const LONGEST_WAIT_MS = 60_000;

type ProviderPlan = Extract<PlanStep, ProviderStep>;

/** What differs between the kinds of steps that call a provider's model. */
type ProviderKind<S extends ProviderPlan> = Pick<PaidKind<S>, "poll" | "result"> & { readonly sends: S["kind"] };

export function providerKind<S extends ProviderPlan>(kind: ProviderKind<S>): RunKind<S> {
  return paidKind<S>({
    activity: "working",
    worksFrom: "intendedAt",
    begin,
    unanswered: (plan, _step, attempt, builder) => unanswered(plan, attempt, builder),
    retry,
    unresolved: (plan, attempt, builder) => {
      // Each process asks once whether the work has ended meanwhile. If it has not, a person decides.
      if (attempt.operation !== undefined) builder.issue(kind.poll!(plan, attempt));
    },
    ...kind,
  });
}

function begin(plan: ProviderPlan, step: StepState, _last: AttemptState | null, builder: DecisionBuilder): void {
  const { kind: type, path, model, provider } = plan;
  beginUnquoted(plan, step, builder, 0, ({ attempt, input, holdMicros }) => {
    const { nonce } = builder.state.planned;
    const key = idempotencyKey({ nonce, step: path, attempt, model, input });
    const request = { step: path, attempt, key, model, input };
    builder.events.push(
      { type: "job.quoted", step: path, attempt, costMicros: null, basis: "unquotable" },
      { type: "job.submit.intended", ...request, holdMicros, provider },
    );
    builder.issue({ type, ...request, mayExist: false });
  });
}

export function generationId(key: string): string {
  return key.replace(/^sr1_/, "gen_");
}

function unanswered(plan: ProviderPlan, attempt: AttemptState, builder: DecisionBuilder): void {
  const target = { step: plan.path, attempt: attempt.n };
  if (plan.promise === "keyed" && !isTooOld(attempt, builder)) {
    const { key, model, input } = attempt;
    if (!builder.dueOrWake(`${plan.kind}:${plan.path}#${attempt.n}`)) return builder.watch();
    return builder.issue({ type: plan.kind, ...target, key: key!, model: model!, input: input!, mayExist: true });
  }
  builder.events.push(...lostAnswer(plan, attempt, { why: null }));
}

/** Returns the events for a lost response. A person must decide what happens next, unless the step may be repeated. */
export function lostAnswer(
  { path: step, model, provider, promise, repeatable }: ProviderStep,
  { n: attempt, key, holdMicros }: Pick<AttemptState, "n" | "key" | "holdMicros">,
  { why, kept }: { readonly why: CleanText | null; readonly kept?: readonly string[] },
): readonly RunEvent[] {
  const target = { step, attempt };
  const isKeyed = promise === "keyed";
  const times = ownText(isKeyed ? "sent" : why === null ? "sent at most once" : "sent once");
  const sent = sentence`${times} to ${ownText(provider)} (${ownText(model)})`;
  const ended = isKeyed
    ? "the request's idempotency key is too old, so the request cannot be sent again"
    : "the process ended before a response arrived";
  const cause = why ?? ownText(ended);
  const known = ownText(
    kept === undefined ? "it is unknown whether anything was generated or charged" : "the result was generated",
  );
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

function retry(plan: ProviderPlan, step: StepState, attempt: AttemptState, builder: DecisionBuilder): Retry {
  const { error } = attempt;
  const tries = ownAttempts(step);
  const isFree = attempt.phase === "refused" && error?.retryable === true;
  const isLost = error?.code === UNANSWERED;
  const more = isFree
    ? tries.filter(({ phase }) => phase === "refused").length < FREE_TRIES
    : isLost
      ? tries.filter((earlier) => earlier.error?.code === UNANSWERED).length < MOST_LOST
      : attempt.phase === "failed" &&
        error?.code !== "MODERATION_FAILED" &&
        tries.filter(({ phase }) => phase === "failed").length < plan.policy.attempts;
  if (!more || !builder.mayRetry(plan)) {
    return {
      never: error === null ? "the provider gave no reason for the failure" : `${error.code}: ${error.message}`,
    };
  }
  const since = attempt.completedAt ?? attempt.lastSentAt ?? 0;
  const soonest = since + Math.min(LONGEST_WAIT_MS, 1000 * 2 ** tries.length);
  return { at: Math.max(soonest, error?.retryAt ?? 0) };
}
