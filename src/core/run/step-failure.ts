import { type AttemptState, lastAttempt, lastChat, type StepState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import type { PlanStep } from "../plan/plan.ts";

/** `open`: it is not known yet whether the step was charged. `maybe`: nobody will ever know. */
export interface StepFailure {
  readonly paid: "nothing" | "open" | "maybe" | "charged";
  /** `own` means a local cause, such as a task or a decision. */
  readonly cause: "refused" | "retired" | "no capacity" | "away" | "moderated" | "failed" | "own";
}

const failures: { readonly [K in PlanStep["kind"]]: (step: StepState) => StepFailure } = {
  job: jobFailure,
  chat: chatFailure,
  generate: generateFailure,
  upload: ownFailure,
  task: ownFailure,
  approve: ownFailure,
  pick: ownFailure,
  expand: ownFailure,
};

export function failureOf({ kind }: PlanStep, step: StepState): StepFailure {
  return failures[kind](step);
}

/** Stored journals contain this text, so it must not change. */
export const AWAY = "the service was away";

const CAUSES: { readonly [code: string]: StepFailure["cause"] } = {
  GONE: "retired",
  MODERATION_FAILED: "moderated",
  RESOURCE_EXHAUSTED: "no capacity",
  UNAVAILABLE: "no capacity",
  HTTP_410: "retired",
  PROVIDER_AWAY: "away",
};

function ownFailure(): StepFailure {
  return { paid: "nothing", cause: "own" };
}

function jobFailure(step: StepState): StepFailure {
  const { attempts, superseded, reason } = step;
  const cause = causeOf(lastAttempt(step)?.error?.code ?? codeIn(reason), lastAttempt(step)?.phase === "failed");
  // Superseded attempts have already been handled. Only their open answers matter.
  if (attempts.some(isOpen)) return { paid: "open", cause };
  const isCharged = attempts.some(({ n, costMicros }) => n > superseded && (costMicros ?? 0) > 0);
  const paid = isCharged ? "charged" : "nothing";
  return { paid, cause: reason?.startsWith(AWAY) === true ? "away" : cause };
}

/** An unconfirmed cost means that the step may or may not have been charged. */
function generateFailure(step: StepState): StepFailure {
  const failure = jobFailure(step);
  const isUnconfirmed = step.attempts.some(({ n, isUnconfirmed }) => n > step.superseded && isUnconfirmed === true);
  return failure.paid === "charged" && isUnconfirmed ? { ...failure, paid: "maybe" } : failure;
}

export function isUnbilled({ attempts }: StepState): boolean {
  return attempts.some(isOpen);
}

function isOpen({ phase, money, costMicros }: AttemptState): boolean {
  if (money === "held" || jobPhases.open.has(phase)) return true;
  return (phase === "completed" || phase === "failed") && costMicros === null;
}

function chatFailure(step: StepState): StepFailure {
  const cause = causeOf(lastChat(step)?.error?.code ?? null, false);
  const chats = step.chats.filter(({ n }) => n > step.superseded);
  if (chats.some(({ phase }) => phase === "sent")) return { paid: "open", cause };
  if (chats.some(({ phase, costMicros }) => phase === "abandoned" && costMicros === null)) {
    return { paid: "maybe", cause };
  }
  return { paid: chats.some(({ costMicros }) => (costMicros ?? 0) > 0) ? "charged" : "nothing", cause };
}

function causeOf(code: string | null, hasFailed: boolean): StepFailure["cause"] {
  const known = code !== null && Object.hasOwn(CAUSES, code) ? CAUSES[code] : undefined;
  return known ?? (hasFailed ? "failed" : "refused");
}

function codeIn(reason: string | null): string | null {
  return /^([A-Z_]+): /.exec(reason ?? "")?.[1] ?? null;
}
