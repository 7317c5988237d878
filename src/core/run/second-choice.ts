import {
  type AttemptState,
  costOf,
  isStepFinal,
  lastAttempt,
  ownAttempts,
  type RunState,
  type StepState,
} from "../journal/state.ts";
import { formatUsd } from "../kit/money.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { givesWay, hasNext, isPaid, type Option, optionBefore, optionsAround, optionsIn } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import { wasLate } from "./open-jobs.ts";
import { missingReason } from "./resolve.ts";

type OptionEnd =
  /** The option has not finished or, if `unbilled` names a step, the cost of that step is not known yet. */
  | { readonly is: "open"; readonly unbilled: string | null }
  | { readonly is: "made" }
  /** The next option may start, even though this one may still finish. */
  | { readonly is: "late"; readonly why: string }
  | { readonly is: "out"; readonly why: string }
  /** The option has no result, and the next option must not start. */
  | { readonly is: "stopped"; readonly why: string; readonly skippedByCondition?: true };

function endOf(state: RunState, option: Option): OptionEnd {
  const steps = option.steps.map((plan) => ({ plan, step: state.steps[plan.path]! }));
  const isOver = steps.every(({ step }) => isStepFinal(step.status));
  const lateStep = lateOf(state, option, isOver);
  const { $ref } = option.choice.among[option.at]!;
  // If the option is late, its result may exist while its other steps are still running.
  const isThere = isOver || (lateStep !== null && isStepFinal(state.steps[$ref.step]!.status));
  if (isThere && missingReason(state, $ref) === null) return { is: "made" };
  if (lateStep !== null) return { is: "late", why: `${lateStep} did not finish in time` };
  if (!isOver) return { is: "open", unbilled: null };
  const ends = steps.flatMap(({ plan, step }) => {
    return step.status === "failed" ? [{ step, failure: failureOf(plan, step) }] : [];
  });
  const cancelled = steps.find(({ step }) => step.status === "cancelled");
  if (cancelled !== undefined) return { is: "stopped", why: `${cancelled.step.path} was cancelled` };
  const unbilled = ends.find(({ failure }) => failure.paid === "open");
  if (unbilled !== undefined) return { is: "open", unbilled: unbilled.step.path };
  for (const { step, failure } of ends) {
    const why = whyStopped(step, failure, option);
    if (why !== null) return { is: "stopped", why };
  }
  const foreign = ends.find(({ failure }) => failure.cause !== "own");
  if (option.choice.second.rewrites === true && foreign === undefined) return notFlagged(steps.map(({ step }) => step));
  // After a local failure, the option counts as `out` only if nothing was paid. This is unknown while a bill is
  // missing.
  const late = foreign === undefined ? steps.find(({ step }) => isUnbilled(step)) : undefined;
  if (late !== undefined) return { is: "open", unbilled: late.step.path };
  const chargedMicros = steps.reduce((sum, { step }) => sum + costOf(ownAttempts(step)), 0);
  if (foreign === undefined && chargedMicros > 0) {
    const [ended] = ends;
    const what = ended === undefined ? `${option.path} made no matching result` : `${ended.step.path} failed locally`;
    return {
      is: "stopped",
      why: `${what}, and steps of the same option have already cost ${formatUsd(chargedMicros)} USD`,
    };
  }
  return { is: "out", why: whyOut(foreign ?? ends[0], steps) };
}

function lateOf({ planned, steps }: RunState, option: Option, isOver: boolean): string | null {
  if (!givesWay(option)) return null;
  const late = option.steps.filter(({ path }) => wasLate(steps[path]!));
  if (late.length === 0) return null;
  const next = optionsIn(planned.plan).get(option.choice.second.options[option.at + 1]!)!;
  const gaveWay = !isOver || next.steps.some(({ path }) => hasBegun(steps[path]!));
  return late.find(({ path }) => gaveWay || steps[path]!.isGivenUp === true)?.path ?? null;
}

function hasBegun({ startedAt, attempts }: StepState): boolean {
  return startedAt !== null || attempts.length > 0;
}

/** Returns the outcome of an option that was not needed, because moderation had not refused the original prompt. */
function notFlagged(steps: readonly StepState[]): OptionEnd {
  const [first] = steps;
  const byCondition = first?.skippedByCondition === true && { skippedByCondition: true as const };
  return { is: "stopped", why: `${first?.path}: ${first?.reason}`, ...byCondition };
}

function isAsWritten({ choice: { second }, at }: Option): boolean {
  return second.rewrites === true && at + second.out.length === 0;
}

function whyStopped(step: StepState, { paid, cause }: StepFailure, option: Option): string | null {
  const { choice } = option;
  if (isAsWritten(option)) {
    if (cause !== "moderated") return `${step.path}: ${step.reason}`;
    // The next option's price includes the possible cost of this option.
    if (paid === "maybe") return null;
  }
  if (paid === "charged") return `${step.path} failed and cost ${formatUsd(costOf(ownAttempts(step)))} USD`;
  if (paid === "maybe") return `${step.path} failed and may have been charged`;
  if (cause === "moderated" && !choice.second.afterModeration) return `${step.path} was refused by moderation`;
  return null;
}

function whyOut(
  end: { readonly step: StepState; readonly failure: StepFailure } | undefined,
  steps: readonly { readonly step: StepState }[],
): string {
  const { step } = end ?? steps.find((entry) => entry.step.reason !== null) ?? {};
  if (step === undefined) return "the option has no steps";
  return `${step.path}: ${end === undefined ? "" : `${CAUSES[end.failure.cause]}: `}${step.reason}`;
}

const CAUSES = {
  refused: "refused",
  retired: "retired",
  "no capacity": "no capacity",
  away: "not reached",
  moderated: "refused by moderation",
  failed: "failed at no cost",
  own: "failed",
} as const satisfies { readonly [C in StepFailure["cause"]]: string };

/** Why a step cannot start. `open`: it must wait until other options have ended. `never`: it will never start. */
type SecondGate =
  | { readonly is: "open"; readonly unbilled: string | null }
  | { readonly is: "never"; readonly reason: string; readonly skippedByCondition: boolean };

export function secondGate(state: RunState, path: string): SecondGate | null {
  for (const option of optionsAround(state.planned.plan, path)) {
    const gate = gateOfOption(state, option) ?? gateOfLate(state, option);
    if (gate !== null) return gate;
  }
  return null;
}

/**
 * Returns why a late option may not start its remaining steps: a later option is still open or has succeeded. Returns
 * null if it may start them.
 */
function gateOfLate(state: RunState, option: Option): SecondGate | null {
  const { choice, at, steps } = option;
  if (!givesWay(option) || !steps.some(({ path }) => wasLate(state.steps[path]!))) return null;
  const options = optionsIn(state.planned.plan);
  let gate: SecondGate | null = null;
  for (const path of choice.second.options.slice(at + 1)) {
    const end = endOf(state, options.get(path)!);
    if (end.is === "made") return { is: "never", reason: `not needed: ${path} succeeded`, skippedByCondition: true };
    if (end.is === "open") gate = end;
  }
  return gate;
}

export function isPassedOver(state: RunState, choice: PlanStep, needed: string): boolean {
  const option = optionsAround(state.planned.plan, needed).find((candidate) => candidate.choice.path === choice.path);
  if (option === undefined) return false;
  const options = optionsIn(state.planned.plan);
  const madeIndex = option.choice.second.options.findIndex((path) => endOf(state, options.get(path)!).is === "made");
  if (madeIndex === -1) return false;
  const taken = options.get(option.choice.second.options[madeIndex]!)!;
  if (option.at > madeIndex) return taken.steps.some(({ path }) => wasLate(state.steps[path]!));
  return endOf(state, option).is === "late";
}

function gateOfOption(state: RunState, option: Option): SecondGate | null {
  const before = optionBefore(state.planned.plan, option);
  if (before === null) return null;
  const earlier = gateOfOption(state, before);
  if (earlier !== null) return earlier;
  const end = endOf(state, before);
  switch (end.is) {
    case "open":
      return end;
    case "made":
      return { is: "never", reason: `not needed: ${before.path} succeeded`, skippedByCondition: true };
    case "stopped": {
      const reason = `not started: ${end.why}`;
      return { is: "never", reason, skippedByCondition: end.skippedByCondition === true };
    }
    case "out":
    case "late":
      return null;
    default:
      return end satisfies never;
  }
}

export function whyNone(state: RunState, { second }: Option["choice"]): string | null {
  const options = optionsIn(state.planned.plan);
  const reasons = second.options.flatMap((path) => {
    const end = endOf(state, options.get(path)!);
    return end.is === "out" || end.is === "late" || end.is === "stopped" ? [end.why] : [];
  });
  const out = second.out.map(({ option, reason }) => `${option} was ruled out (${reason})`);
  const all = [...new Set([...out, ...reasons])];
  return all.length === 0 ? null : all.join("; ");
}

export function isOfEarlierOption(state: RunState, { path }: PlanStep, needed: string): boolean {
  return optionsAround(state.planned.plan, path).some(({ choice, at }) =>
    choice.second.options.slice(0, at).some((option) => needed.startsWith(`${option}/`)),
  );
}

/** Returns whether a choice that contains the step succeeded. If so, nobody needs to act on the step's failure. */
export function isMadeUpFor(state: RunState, path: string): boolean {
  return optionsAround(state.planned.plan, path).some(({ choice }) => state.steps[choice.path]!.status === "succeeded");
}

/**
 * Returns the step to rerun after the step at `path` failed: that step or, if moderation refused its rewritten prompt,
 * the step that rewrites the prompt. Null if a rerun would fail again.
 */
export function madeAgainFor(state: RunState, path: string): string | null {
  const [option] = optionsAround(state.planned.plan, path);
  if (option?.choice.second.rewrites !== true) return path;
  if (isAsWritten(option)) return endOf(state, option).is === "out" ? null : path;
  const plan = option.steps.find((step) => step.path === path)!;
  return failureOf(plan, state.steps[path]!).cause === "moderated" ? option.steps[0]!.path : path;
}

export function awayMsOf(state: RunState, path: string): number | null {
  const limits = optionsAround(state.planned.plan, path).filter(hasNext);
  return limits.reduce<number | null>((least, { choice: { second } }) => {
    return second.awayMs === null ? least : Math.min(least ?? second.awayMs, second.awayMs);
  }, null);
}

/** Returns which option was used and why; null if the first option was used. */
export function whichOption(state: RunState, choice: Option["choice"]): string | null {
  const { second, among } = choice;
  const at = among.findIndex(({ $ref }) => missingReason(state, $ref) === null);
  const option = second.options[at];
  if (option === undefined || at + second.out.length === 0) return null;
  const options = optionsIn(state.planned.plan);
  const why = second.options.slice(0, at).flatMap((path) => {
    const end = endOf(state, options.get(path)!);
    return end.is === "out" || end.is === "late"
      ? [`${path} ${end.is === "out" ? "failed" : "was late"} (${end.why})`]
      : [];
  });
  const never = second.out.map((entry) => `${entry.option} was ruled out (${entry.reason})`);
  return `used ${option}: ${[...never, ...why].join("; ")}`;
}

/** Returns the options that come before the chosen one but succeeded too late to be chosen. */
export function cameLate(state: RunState): readonly { readonly option: string; readonly choice: string }[] {
  const options = optionsIn(state.planned.plan);
  return [...options.values()].flatMap((option) => {
    const { path: choice, second } = option.choice;
    const { chosen } = state.steps[choice]!;
    const taken = second.options.findIndex((path) => chosen?.step.startsWith(`${path}/`) === true);
    return option.at < taken && endOf(state, option).is === "made" ? [{ option: option.path, choice }] : [];
  });
}

/**
 * Why a step failed and whether it was charged. `paid` is `open` if the charge is not known yet, and `maybe` if it can
 * never be confirmed.
 */
interface StepFailure {
  readonly paid: "nothing" | "open" | "maybe" | "charged";
  /** Why the step failed. `own` means a local cause, such as a task or a decision. */
  readonly cause: "refused" | "retired" | "no capacity" | "away" | "moderated" | "failed" | "own";
}

export function failureOf(plan: PlanStep, step: StepState): StepFailure {
  if (!isPaid(plan)) return { paid: "nothing", cause: "own" };
  const { reason } = step;
  const last = lastAttempt(step);
  const cause = causeOf(last?.error?.code ?? codeIn(reason), last?.phase === "failed" && last.kind !== "chat");
  // Earlier attempts have already been handled, except for answers and bills that are still missing.
  if (isUnbilled(step)) return { paid: "open", cause };
  return { paid: paidFor(ownAttempts(step)), cause: reason?.startsWith(AWAY) === true ? "away" : cause };
}

function paidFor(attempts: readonly AttemptState[]): StepFailure["paid"] {
  if (attempts.some(({ money }) => money === "unconfirmed")) return "maybe";
  if (costOf(attempts) === 0) return "nothing";
  return attempts.some(({ provider, isUnconfirmed }) => provider !== undefined && isUnconfirmed) ? "maybe" : "charged";
}

/**
 * Beginning of the failure reason if the service was unavailable for too long. Stored journals contain this text, so it
 * must not change.
 */
export const AWAY = "the service was away";

const CAUSES_BY_CODE: { readonly [code: string]: StepFailure["cause"] } = {
  GONE: "retired",
  MODERATION_FAILED: "moderated",
  RESOURCE_EXHAUSTED: "no capacity",
  UNAVAILABLE: "no capacity",
  HTTP_410: "retired",
  PROVIDER_AWAY: "away",
};

function isUnbilled({ attempts }: StepState): boolean {
  return attempts.some(({ phase, money }) => money === "held" || jobPhases.open.has(phase));
}

function causeOf(code: string | null, hasFailed: boolean): StepFailure["cause"] {
  const known = code !== null && Object.hasOwn(CAUSES_BY_CODE, code) ? CAUSES_BY_CODE[code] : undefined;
  return known ?? (hasFailed ? "failed" : "refused");
}

function codeIn(reason: string | null): string | null {
  return /^([A-Z_]+): /.exec(reason ?? "")?.[1] ?? null;
}
