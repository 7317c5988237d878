import type { AskedPrice, RunEvent } from "../journal/events.ts";
import { type AttemptState, isRunFinal, isStepFinal, lastAttempt, type RunState, wasSent } from "../journal/state.ts";
import { ownText } from "../kit/clean-text.ts";
import { own } from "../kit/lookup.ts";
import { formatUsd, wholeCents } from "../kit/money.ts";
import { shellWord } from "../kit/value-text.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { groupsAround, outerPaths } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import type { RunIndex } from "./run-index.ts";

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

/**
 * Returns the run's projected total cost: the committed amount plus, for each step that has not begun, the quoted price
 * or, without a quote, the maximum cost.
 */
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
 * Returns events that correct reserved amounts that are too low. Each raises an amount, or withdraws a job that was
 * never sent.
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

function isInFlight(path: string, { n, phase, money }: AttemptState, notBefore: ReadonlyMap<string, number>): boolean {
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
  /** The command-line option that sets the cap, split into the text before and after the amount. */
  readonly flag: readonly [before: string, after: string];
  /** Command-line options to repeat when the run is resumed. Empty for a budget, which the run stores. */
  readonly limitFlags: readonly string[];
}

/** How much more the run may reserve under shared limits and the wallet's balance. */
export type Headroom =
  | LimitHeadroom
  /** The headroom cannot be determined before `askAgainAt`, because the balance is stale or could not be read. */
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

/** Why an amount cannot be reserved, and what follows: either the step `failing` fails, or the run pauses. */
export type Refusal = { readonly failing: string; readonly reason: string } | { readonly pause: Pause };

/**
 * Why an amount cannot be reserved now. If `mayFreeUp` is true, it may become possible, because work in progress may
 * cost less than was reserved for it.
 */
export type Obstacle = { readonly refusal: Refusal; readonly mayFreeUp: boolean } | { readonly askAgainAt: number };

interface Around {
  readonly headrooms?: readonly Headroom[];
  readonly notBefore: ReadonlyMap<string, number>;
}

/** The amounts that one decision reserves, in addition to those that the run has spent or reserved before. */
export class Reservations {
  readonly #state: RunState;
  readonly #around: Around;
  readonly #index: Pick<RunIndex, "holding" | "committedIn">;
  readonly #reserved: { readonly path: string; readonly model: string; readonly holdMicros: number }[] = [];
  readonly #groupMicros = new Map<string, number>();
  #committedMicros: number;
  #reservedMicros = 0;

  constructor(state: RunState, around: Around, index: Pick<RunIndex, "holding" | "committedIn">) {
    this.#state = state;
    this.#around = around;
    this.#index = index;
    this.#committedMicros = committedMicros(state);
  }

  /** Returns what prevents the reservation: a group's limit, a cap, the wallet or the budget. Null if nothing does. */
  obstacle(hold: AskedHold): Obstacle | null {
    const group = this.#groupWithout(hold.path, hold.holdMicros);
    if (group !== null) {
      const mayFreeUp = group.committed - this.#inFlight(`${group.prefix}/`) + hold.holdMicros <= group.maxCostMicros;
      return { refusal: { failing: hold.path, reason: overGroup(hold, group) }, mayFreeUp };
    }
    const shared = this.#sharedObstacle(hold);
    if (shared !== null) return shared;
    const budget = ownLimitMicros(this.#state);
    if (budget === null || this.#committedMicros + hold.holdMicros <= budget) return null;
    const pause = overBudget(hold, this.#committedMicros, budget);
    return { refusal: { pause }, mayFreeUp: this.#committedMicros - this.#inFlight("") + hold.holdMicros <= budget };
  }

  reserve(path: string, model: string, holdMicros: number): void {
    this.#committedMicros += holdMicros;
    this.#reservedMicros += holdMicros;
    this.#reserved.push({ path, model, holdMicros });
    for (const prefix of groupsAround(this.#state.planned.plan, path))
      this.#groupMicros.set(prefix, this.#committedIn(prefix) + holdMicros);
  }

  /**
   * Returns true if the step must wait until the cost of another job of its model is known, because the model may
   * charge more than it quotes.
   */
  isBillAwaited(plan: PlanStep): boolean {
    if (!("model" in plan)) return false;
    const { overcharges, steps } = this.#state;
    const known = Object.hasOwn(overcharges, plan.model) ? overcharges[plan.model]! : null;
    const isUnproven = lastAttempt(steps[plan.path]!)?.quote?.costMicros === 0 && known?.isFree !== true;
    if (known?.isAbove !== true && !isUnproven) return false;
    const isOpen = (path: string) =>
      steps[path]!.attempts.some(
        (attempt) => attempt.model === plan.model && isInFlight(path, attempt, this.#around.notBefore),
      );
    return this.#reserved.some(({ model }) => model === plan.model) || [...this.#index.holding].some(isOpen);
  }

  #sharedObstacle({ path, holdMicros, payer }: AskedHold): Obstacle | null {
    for (const known of this.#around.headrooms ?? []) {
      const headroom = minusHold(known, this.#reservedMicros);
      if (holdMicros <= headroom.headroomMicros || (payer === "provider" && known.limit !== "cap")) continue;
      if (headroom.limit === "later") return { askAgainAt: headroom.askAgainAt };
      const pause = overHeadroom(headroom, path, holdMicros);
      return { refusal: { pause }, mayFreeUp: this.#mayFreeUp(headroom, holdMicros) };
    }
    return null;
  }

  #mayFreeUp(headroom: LimitHeadroom, holdMicros: number): boolean {
    if (headroom.limit === "cap") return holdMicros <= headroom.headroomMicros + this.#inFlight("");
    return this.#reservedMicros > 0 || isSubmitting(this.#state, this.#index.holding);
  }

  #inFlight(within: string): number {
    let sum = inFlightMicros(this.#state, this.#index.holding, within, this.#around.notBefore);
    for (const { path, holdMicros } of this.#reserved) if (path.startsWith(within)) sum += holdMicros;
    return sum;
  }

  #groupWithout(path: string, holdMicros: number) {
    for (const prefix of groupsAround(this.#state.planned.plan, path)) {
      const { maxCostMicros } = this.#state.planned.plan.groups![prefix]!;
      const committed = this.#committedIn(prefix);
      if (committed + holdMicros > maxCostMicros) return { prefix, maxCostMicros, committed };
    }
    return null;
  }

  #committedIn(prefix: string): number {
    return this.#groupMicros.get(prefix) ?? this.#index.committedIn(prefix);
  }
}

export type Pause = Extract<RunEvent, { readonly type: "run.paused" }>;

export function unpriced(path: string, model: string, why: string): string {
  return `${path} (${model}) ${why}. Set maxCost on the step, or resume with --max-unquoted USD.`;
}

export function overBudget(
  { path, holdMicros, reason }: Omit<AskedHold, "payer">,
  committedMicros: number,
  budgetMicros: number,
): Pause {
  const needs = `${path} needs ${formatUsd(holdMicros)} USD${reason}`;
  const message = `${needs}, but ${formatUsd(committedMicros)} USD of the budget of ${formatUsd(budgetMicros)} USD is spent or reserved.`;
  const requiredMicros = committedMicros + holdMicros;
  return { type: "run.paused", reason: "budget", message: ownText(message), requiredMicros };
}

const MOST_NAMED = 5;

export function unagreed(state: RunState, asks: readonly AskedPrice[]): Pause {
  const { runId, agreed, planned } = state;
  const limitMicros = ownLimitMicros(state) ?? 0;
  const sum = asks.reduce((micros, { costMicros }) => micros + costMicros, 0);
  const named = asks.slice(0, MOST_NAMED).map(({ step, costMicros }) => `${step} costs ${formatUsd(costMicros)} USD`);
  const more = asks.length > MOST_NAMED ? `, and ${asks.length - MOST_NAMED} more (${formatUsd(sum)} USD in all)` : "";
  const requiredMicros = limitMicros + sum;
  const flag = planned.budgetTag === undefined ? "--budget" : "--agree";
  const asked = `${named.join(", ")}${more}: this was not known when quote ${agreed!.quote} was accepted, so the accepted total of ${formatUsd(limitMicros)} USD does not include it.`;
  const message = `${asked} To accept it: showrunner resume ${runId} ${flag} ${wholeCents(requiredMicros)}`;
  return { type: "run.paused", reason: "budget", message: ownText(message), requiredMicros, asks };
}

export function overGroup(
  { holdMicros, reason }: Omit<AskedHold, "payer">,
  group: { readonly prefix: string; readonly maxCostMicros: number; readonly committed: number },
): string {
  const { prefix, maxCostMicros, committed } = group;
  return `needs ${formatUsd(holdMicros)} USD${reason}, but ${prefix} has spent or reserved ${formatUsd(committed)} of its maxCost of ${formatUsd(maxCostMicros)} USD`;
}

export function whyRaised(model: string, quotedMicros: number | null, holdMicros: number): string {
  if (quotedMicros === null || holdMicros <= quotedMicros) return "";
  return ` (quoted ${formatUsd(quotedMicros)}, but ${model} has charged more than quoted before)`;
}

export function overHeadroom(headroom: LimitHeadroom, path: string, holdMicros: number): Pause {
  const needs = `${path} needs ${formatUsd(holdMicros)} USD`;
  switch (headroom.limit) {
    case "cap": {
      const { cap, committedMicros } = headroom;
      const requiredMicros = committedMicros + holdMicros;
      const [before, after] = cap.flag;
      const spent = `${needs}, but ${formatUsd(committedMicros)} USD of the ${cap.title} is spent or reserved.`;
      const flag = ownText(`${before}${wholeCents(requiredMicros)}${after}`);
      const limitFlags = cap.limitFlags.length === 0 ? {} : { limitFlags: cap.limitFlags.map(ownText) };
      const paused = { type: "run.paused", requiredMicros, flag, ...limitFlags } as const;
      const higher = `higher ${cap.what}: ${pastedFlag(`${before}USD${after}`)}.`;
      // If the amount is above the whole cap, waiting for the cap's next period does not help.
      if (cap.endsAt === null || holdMicros > cap.capMicros) {
        const message = ownText(`${spent} Resume with a ${higher}`);
        return { ...paused, reason: "budget", message };
      }
      const message = ownText(`${spent} The run can continue at ${cap.resumesAt}, or earlier with a ${higher}`);
      return { ...paused, reason: "cap", message, resumeAt: cap.endsAt };
    }
    case "floor": {
      const { floorMicros } = headroom;
      const balanceMicros = headroom.balanceMicros - headroom.unseenMicros;
      const has = `the wallet has ${formatUsd(balanceMicros)} USD that is not reserved, and ${formatUsd(floorMicros)} USD must stay in it`;
      const message = `${needs}; ${has}. Add funds, or resume with a lower floor: --wallet-floor USD.`;
      const requiredMicros = floorMicros + holdMicros;
      const limitFlags = ["--wallet-floor", formatUsd(floorMicros)].map(ownText);
      const paused = { type: "run.paused", reason: "funds", message: ownText(message) } as const;
      return { ...paused, requiredMicros, balanceMicros, limitFlags };
    }
    default:
      return headroom satisfies never;
  }
}

/** Quotes the value in an option such as `--flag value` for a shell, because the value may contain spaces. */
export function pastedFlag(flag: string): string {
  const at = flag.indexOf(" ");
  return `${flag.slice(0, at)} ${shellWord(flag.slice(at + 1))}`;
}

const SHARES = [100, 80, 50] as const;

interface SpentOf {
  readonly limitMicros: number;
  readonly committedMicros: number;
}

export function shareReached({ limitMicros, committedMicros }: SpentOf, beforeMicros: number): number | null {
  const isReached = (share: number, micros: number) => micros * 100 >= limitMicros * share;
  return SHARES.find((share) => isReached(share, committedMicros) && !isReached(share, beforeMicros)) ?? null;
}
