import { type AttemptState, costOf, lastAttempt, ownAttempts, type StepState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { isPaid } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";

/** `open`: it is not known yet whether the step was charged. `maybe`: nobody will ever know. */
export interface StepFailure {
  readonly paid: "nothing" | "open" | "maybe" | "charged";
  /** `own` means a local cause, such as a task or a decision. */
  readonly cause: "refused" | "retired" | "no capacity" | "away" | "moderated" | "failed" | "own";
}

export function failureOf(plan: PlanStep, step: StepState): StepFailure {
  if (!isPaid(plan)) return { paid: "nothing", cause: "own" };
  const { reason } = step;
  const last = lastAttempt(step);
  const cause = causeOf(last?.error?.code ?? codeIn(reason), last?.phase === "failed" && last.kind !== "chat");
  // Superseded attempts have already been handled. Only their open answers matter.
  if (isUnbilled(step)) return { paid: "open", cause };
  return { paid: paidFor(ownAttempts(step)), cause: reason?.startsWith(AWAY) === true ? "away" : cause };
}

function paidFor(attempts: readonly AttemptState[]): StepFailure["paid"] {
  if (attempts.some(({ money }) => money === "unconfirmed")) return "maybe";
  if (costOf(attempts) === 0) return "nothing";
  return attempts.some(({ provider, isUnconfirmed }) => provider !== undefined && isUnconfirmed) ? "maybe" : "charged";
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

export function isUnbilled({ attempts }: StepState): boolean {
  return attempts.some(({ phase, money }) => money === "held" || jobPhases.open.has(phase));
}

function causeOf(code: string | null, hasFailed: boolean): StepFailure["cause"] {
  const known = code !== null && Object.hasOwn(CAUSES, code) ? CAUSES[code] : undefined;
  return known ?? (hasFailed ? "failed" : "refused");
}

function codeIn(reason: string | null): string | null {
  return /^([A-Z_]+): /.exec(reason ?? "")?.[1] ?? null;
}
