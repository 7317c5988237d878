import type { RunEvent } from "../journal/events.ts";
import { type AttemptState, isRunFinal, isStepFinal, lastAttempt, type RunState, wasSent } from "../journal/state.ts";
import { own } from "../kit/lookup.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { outerPaths } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";

/** An amount that a step needs to reserve. `payer` is the wallet on the service or an account at a provider. */
export interface AskedHold {
  readonly path: string;
  readonly holdMicros: number;
  readonly reason: string;
  readonly payer: "wallet" | "provider";
}

export function committedMicros({ spentMicros, heldMicros, unconfirmedMicros }: RunState): number {
  return spentMicros + heldMicros + unconfirmedMicros;
}

/**
 * Returns the limit that applies to this run alone; null if there is none. A budget that other runs share is not
 * included.
 */
export function ownLimitMicros({ budgetMicros, agreed, planned }: RunState): number | null {
  return planned.budgetTag === undefined ? budgetMicros : (agreed?.maximumMicros ?? null);
}

export function isUnagreed({ agreed }: RunState, path: string, costMicros: number): boolean {
  if (agreed === null || costMicros === 0) return false;
  const isOpen = [path, ...outerPaths(path)].some((outer) => agreed.open.includes(outer));
  return isOpen && costMicros > (own(agreed.prices ?? {}, path) ?? 0);
}

/** Returns the committed amount plus the price or maximum of each step that has not begun. */
export function projectedMicros(state: RunState): number {
  let sum = committedMicros(state);
  if (isRunFinal(state.status)) return sum;
  for (const plan of state.planned.plan.steps) {
    const { status, attempts } = state.steps[plan.path]!;
    if (!("policy" in plan) || isStepFinal(status)) continue;
    const last = attempts.at(-1);
    if (last === undefined || !wasSent(last)) sum += last?.quote?.costMicros ?? plan.policy.maxCostMicros ?? 0;
  }
  return sum;
}

/**
 * Returns events for reserved amounts that are too low. They raise the amount, or withdraw the job if it was never
 * sent.
 */
export function raisedHolds(
  state: RunState,
  holding: Iterable<string>,
  isUnsent: (path: string, attempt: AttemptState) => boolean,
): readonly RunEvent[] {
  if (Object.keys(state.overcharges).length === 0) return [];
  return [...holding].toSorted().flatMap((step) =>
    state.steps[step]!.attempts.flatMap((tried): readonly RunEvent[] => {
      const { n: attempt, model, money, quote, holdMicros: heldMicros } = tried;
      if (money !== "held" || model === null) return [];
      const holdMicros = raisedHold(state, model, { quotedMicros: quote?.costMicros ?? null, holdMicros: heldMicros });
      if (holdMicros === heldMicros) return [];
      return isUnsent(step, tried)
        ? [{ type: "job.submit.withdrawn", step, attempt, reason: "unsent" }]
        : [{ type: "job.hold.raised", step, attempt, holdMicros }];
    }),
  );
}

export function raisedHold(
  { overcharges }: RunState,
  model: string,
  { quotedMicros, holdMicros }: { readonly quotedMicros: number | null; readonly holdMicros: number },
): number {
  const known = Object.hasOwn(overcharges, model) ? overcharges[model]! : null;
  if (known === null) return holdMicros;
  if (quotedMicros === null || quotedMicros === 0) return Math.max(holdMicros, known.unquotedMicros ?? 0);
  return known.worst?.quotedMicros === quotedMicros ? Math.max(holdMicros, known.worst.chargedMicros) : holdMicros;
}

export function inFlightMicros(
  { steps }: RunState,
  holding: Iterable<string>,
  within: string,
  notBefore: ReadonlyMap<string, number>,
): number {
  let sum = 0;
  for (const path of holding) {
    if (!path.startsWith(within)) continue;
    const attempt = lastAttempt(steps[path]!);
    if (attempt !== null && isInFlight(path, attempt, notBefore)) sum += attempt.holdMicros;
  }
  return sum;
}

export function isInFlight(
  path: string,
  { n, phase, money }: AttemptState,
  notBefore: ReadonlyMap<string, number>,
): boolean {
  if (money !== "held") return false;
  if (jobPhases.inFlight.has(phase)) return true;
  // If the time is infinite, the run has given up polling for the bill.
  const isPolled = notBefore.get(`settle:${path}#${n}`) !== Number.POSITIVE_INFINITY;
  return (phase === "completed" || phase === "failed") && isPolled;
}

export function isSubmitting({ steps }: RunState, holding: Iterable<string>): boolean {
  for (const path of holding) {
    const attempt = lastAttempt(steps[path]!);
    if (attempt !== null && jobPhases.submitting.has(attempt.phase)) return true;
  }
  return false;
}

export interface CapTerms {
  readonly what: "cap" | "budget";
  readonly capMicros: number;
  readonly title: string;
  readonly endsAt: number | null;
  readonly resumesAt: string | null;
  /** The command-line option that sets the cap: its text before and after the amount. */
  readonly flag: readonly [before: string, after: string];
  /** The command-line options that set the cap to its present amount; empty if the run stores the cap. */
  readonly limitFlags: readonly string[];
}

/** How much more the run may reserve under shared limits and the wallet's balance. */
export type Headroom =
  | LimitHeadroom
  /** The amount is unknown until `askAgainAt`, because the balance is outdated or could not be read. */
  | { readonly limit: "later"; readonly headroomMicros: 0; readonly askAgainAt: number };

export type LimitHeadroom =
  | {
      readonly limit: "cap";
      readonly headroomMicros: number;
      readonly cap: CapTerms;
      readonly committedMicros: number;
    }
  | {
      readonly limit: "floor";
      readonly headroomMicros: number;
      readonly floorMicros: number;
      readonly balanceMicros: number;
      readonly unseenMicros: number;
    };

export function isSameLimit(headroom: Headroom, otherHeadroom: Headroom): boolean {
  if (headroom.limit !== "cap" || otherHeadroom.limit !== "cap") return headroom.limit === otherHeadroom.limit;
  return headroom.cap.title === otherHeadroom.cap.title;
}

export function minusHold(headroom: Headroom, micros: number): Headroom {
  const headroomMicros = headroom.headroomMicros - micros;
  switch (headroom.limit) {
    case "later":
      return headroom;
    case "cap":
      return { ...headroom, headroomMicros, committedMicros: headroom.committedMicros + micros };
    case "floor":
      return { ...headroom, headroomMicros, unseenMicros: headroom.unseenMicros + micros };
    default:
      return headroom satisfies never;
  }
}

interface Deciding {
  readonly state: RunState;
  readonly context: { readonly notBefore: ReadonlyMap<string, number> };
  readonly index: { readonly holding: Iterable<string> };
}

/**
 * Returns whether the step must wait for another job's bill, which shows what the model really charges. `reserved`
 * lists what the current decision has reserved so far.
 */
export function isBillAwaited(
  { state: { overcharges, steps }, context, index }: Deciding,
  plan: PlanStep,
  reserved: readonly { readonly model: string }[],
): boolean {
  if (!("model" in plan)) return false;
  const known = Object.hasOwn(overcharges, plan.model) ? overcharges[plan.model]! : null;
  const isUnproven = lastAttempt(steps[plan.path]!)?.quote?.costMicros === 0 && known?.isFree !== true;
  if (known?.isAbove !== true && !isUnproven) return false;
  const isOpen = (path: string) =>
    steps[path]!.attempts.some(
      (attempt) => attempt.model === plan.model && isInFlight(path, attempt, context.notBefore),
    );
  return reserved.some(({ model }) => model === plan.model) || [...index.holding].some(isOpen);
}
