import type { RunEvent } from "../journal/events.ts";
import {
  type AttemptState,
  isRunFinal,
  isStepFinal,
  lastAttempt,
  lastChat,
  type RunState,
  type StepState,
} from "../journal/state.ts";
import { own } from "../kit/own.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { outerPaths } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";

/** What a step asks for: who pays is the wallet at the service, or an account at a provider, which nobody can ask. */
export interface AskedHold {
  readonly path: string;
  readonly holdMicros: number;
  readonly reason: string;
  readonly payer: "wallet" | "provider";
}

/** What a run has of its budget: spent, held and unconfirmed. */
export function committedMicros({ spentMicros, heldMicros, unconfirmedMicros }: RunState): number {
  return spentMicros + heldMicros + unconfirmedMicros;
}

/** The most that a run may cost by itself, micro-dollars; null: nothing is set. A budget that is shared is kept to by each commit. */
export function ownLimitMicros({ budgetMicros, agreed, planned }: RunState): number | null {
  return planned.budgetTag === undefined ? budgetMicros : (agreed?.maximumMicros ?? null);
}

/** Whether the price of a step was not known when somebody agreed to the run, and is more than was agreed to since. */
export function isUnagreed({ agreed }: RunState, path: string, costMicros: number): boolean {
  if (agreed === null || costMicros === 0) return false;
  const isOpen = [path, ...outerPaths(path)].some((outer) => agreed.open.includes(outer));
  return isOpen && costMicros > (own(agreed.prices ?? {}, path) ?? 0);
}

/** What the run comes to: spent, reserved, and the latest prices, else the maxima, of steps that have not run. */
export function projectedMicros(state: RunState): number {
  let sum = committedMicros(state);
  if (isRunFinal(state.status)) return sum;
  for (const plan of state.planned.plan.steps) {
    const { status, attempts, chats } = state.steps[plan.path]!;
    if (!("policy" in plan) || isStepFinal(status)) continue;
    const last = attempts.at(-1);
    const isBegun = last?.key != null || chats.length > 0;
    if (!isBegun) sum += last?.quote?.costMicros ?? plan.policy.maxCostMicros ?? 0;
  }
  return sum;
}

/**
 * Jobs at the service that will cost more than is reserved for them: start no new work before that is counted. What
 * certainly never left is taken back instead, so that its real price is held against budget and maxCost before it is sent.
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

/** What to reserve for what was quoted at so much (null: not at all, so that its maximum is reserved). */
export function raisedHold(
  { overcharges }: RunState,
  model: string,
  { quotedMicros, holdMicros }: { readonly quotedMicros: number | null; readonly holdMicros: number },
): number {
  const known = Object.hasOwn(overcharges, model) ? overcharges[model]! : null;
  if (known === null) return holdMicros;
  if (quotedMicros === null || quotedMicros === 0) return Math.max(holdMicros, known.unquotedMicros ?? 0);
  // Another quote is another price: that it is exceeded as well is not known.
  return known.worst?.quotedMicros === quotedMicros ? Math.max(holdMicros, known.worst.chargedMicros) : holdMicros;
}

/**
 * Holds that will be bills soon: of jobs and chats under way, and of jobs whose cost is still asked for. A bill may be less
 * than its hold, so that what does not fit now may fit then. `within` is a path prefix; empty for the whole run.
 */
export function inFlightMicros(
  { steps }: RunState,
  holding: Iterable<string>,
  within: string,
  notBefore: ReadonlyMap<string, number>,
): number {
  let sum = 0;
  for (const path of holding) {
    if (!path.startsWith(within)) continue;
    const step = steps[path]!;
    const attempt = lastAttempt(step);
    if (attempt !== null && isInFlight(path, attempt, notBefore)) sum += attempt.holdMicros;
    const chat = lastChat(step);
    if (chat?.phase === "sent") sum += chat.holdMicros;
  }
  return sum;
}

/** Whether its hold will be a bill soon. */
export function isInFlight(
  path: string,
  { n, phase, money }: AttemptState,
  notBefore: ReadonlyMap<string, number>,
): boolean {
  if (money !== "held") return false;
  if (jobPhases.inFlight.has(phase)) return true;
  // A bill that never arrived is no longer polled.
  const isPolled = notBefore.get(`settle:${path}#${n}`) !== Number.POSITIVE_INFINITY;
  return (phase === "completed" || phase === "failed") && isPolled;
}

/** Whether a charge of the run may be on its way to the wallet. */
export function isSubmitting({ steps }: RunState, holding: Iterable<string>): boolean {
  for (const path of holding) {
    const attempt = lastAttempt(steps[path]!);
    if (attempt !== null && jobPhases.submitting.has(attempt.phase)) return true;
    if (lastChat(steps[path]!)?.phase === "sent") return true;
  }
  return false;
}

/** What is said of a cap over several runs. */
export interface CapTerms {
  /** A budget is the run's, which it shares with others. */
  readonly what: "cap" | "budget";
  readonly capMicros: number;
  /** Distinguishes it from other caps. */
  readonly title: string;
  /** When it begins anew, epoch milliseconds; null: never. */
  readonly endsAt: number | null;
  /** The same for people. */
  readonly resumesAt: string | null;
  /** The option that sets it, before and after the amount. */
  readonly flag: readonly [before: string, after: string];
}

/** How much more may be reserved right now, apart from the run's own budget: what other runs and the wallet leave. */
export type Headroom =
  | LimitHeadroom
  /** Unknown until then: the wallet did not answer, or charges are not in its balance yet. */
  | { readonly limit: "later"; readonly headroomMicros: 0; readonly askAgainAt: number };

export type LimitHeadroom =
  | {
      readonly limit: "cap";
      readonly headroomMicros: number;
      readonly cap: CapTerms;
      /** Spent and held by all runs that it counts. */
      readonly committedMicros: number;
    }
  | {
      readonly limit: "floor";
      readonly headroomMicros: number;
      readonly floorMicros: number;
      readonly balanceMicros: number;
      /** Held or charged, and not in the balance yet. */
      readonly unseenMicros: number;
    };

/** Whether both are about the same limit, so that the later one replaces the other. */
export function isSameLimit(headroom: Headroom, otherHeadroom: Headroom): boolean {
  if (headroom.limit !== "cap" || otherHeadroom.limit !== "cap") return headroom.limit === otherHeadroom.limit;
  return headroom.cap.title === otherHeadroom.cap.title;
}

/** The headroom left after a further hold. */
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
 * Whether the bill of another job of its model is to be known first: the model charged above its quote, or quotes nothing,
 * which bounds nothing, and no bill has agreed with that so far. `reserved`: what was decided just now.
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

/** Spent, held and unconfirmed on one step. */
export function committedOn(step: StepState): number {
  let sum = 0;
  for (const { money, holdMicros, costMicros } of step.attempts)
    sum += money === "held" ? holdMicros : (costMicros ?? 0);
  for (const chat of step.chats) sum += chat.costMicros ?? chat.holdMicros;
  return sum;
}
