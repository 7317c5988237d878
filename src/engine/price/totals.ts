import type { PriceBasis } from "../../journal/events.ts";
import { formatUsd } from "../../money.ts";
import { expansionsIn, isPaid } from "../../plan/index.ts";
import type { Plan, Problem } from "../../plan/plan.ts";
import { returnedReferences } from "../../run/resolve.ts";

/** The price of one step. */
export interface StepPrice {
  readonly step: string;
  readonly model: string | null;
  /** Micro-dollars; null when the service cannot say. */
  readonly costMicros: number | null;
  /**
   * `quoted`: by the service for just this input. `provisional`: its media do not exist yet, quoted with stand-ins and
   * asked again before the submit. `unquotable`: runs only under a maximum. `free`: an upload. `reused`: an earlier run
   * made the very same.
   */
  readonly basis: PriceBasis | "free" | "reused";
  /** The most the step may cost, where it or the run sets one. */
  readonly maxCostMicros: number | null;
  /** What it comes to at most, micro-dollars: of its longest input, or its maximum. Null: open-ended. */
  readonly mostMicros: number | null;
  /** Why there is no price, or what media that do not exist yet must fulfil. */
  readonly reason: string | null;
  /** Steps that may make media which its model refuses: looked at before what only this step needs is bought. */
  readonly conditionalOn?: readonly string[];
  /** With reuse: why the step is not reused from an earlier run. Absent where it is, or nothing is to be said. */
  readonly anew?: string;
}

/** Something about a plan that does not stand in its way and that somebody should look at. */
export interface PlanWarning {
  /**
   * `unused`: a paid step that nothing uses. `unread-table`: rows of a model's table of combinations that cannot be read.
   * `accepted-anyway`: an input that is in no row of it, and that the service takes.
   */
  readonly code: "unused" | "unread-table" | "accepted-anyway";
  /** A step's path, or the model that it is about. */
  readonly step: string;
  readonly message: string;
}

/** Paid steps whose results nothing uses and nothing returns: they run, and cost, as written. */
export function unusedSteps({ steps, returns }: Plan): readonly PlanWarning[] {
  const used = new Set([
    ...steps.flatMap(({ needs }) => needs),
    ...returnedReferences(returns).map(({ ref }) => ref.step),
  ]);
  // What an expansion stands for is its own affair.
  const inner = [...expansionsIn(steps)].map((path) => `${path}/`);
  return steps.flatMap((step): readonly PlanWarning[] => {
    if (!isPaid(step) || used.has(step.path)) return [];
    if (inner.some((prefix) => step.path.startsWith(prefix))) return [];
    const message = "is paid for, and nothing uses or returns it; return it, use it, or leave it out";
    return [{ code: "unused", step: step.path, message }];
  });
}

/** Micro-dollars. `max` is null when something is open-ended: see {@link openSteps}. */
export interface Total {
  readonly min: number;
  readonly max: number | null;
}

/** Steps that a text names at most. */
const MOST_NAMED = 5;

/** Steps whose price nothing bounds: nobody knows how long what they take in will be. */
export function openSteps(prices: readonly StepPrice[]): readonly string[] {
  return prices.flatMap(({ step, mostMicros }) => (mostMicros === null ? [step] : []));
}

/** A sum in words: an amount, a range, or from where on, with the steps that are open-ended. */
export function priceText(
  { min, max }: Total,
  prices: readonly StepPrice[],
  text: (micros: number) => string = formatUsd,
): string {
  if (max !== null) return min === max ? text(max) : `${text(min)} to ${text(max)}`;
  const open = openSteps(prices).slice(0, MOST_NAMED);
  const more = openSteps(prices).length - open.length;
  return `from ${text(min)}, open-ended: ${open.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** With what is expected of media that do not exist yet; null where something has neither a price nor a maximum. */
interface Sums extends Total {
  readonly expected: number | null;
}

type Priced = Pick<Plan, "steps" | "groups">;

/**
 * What all of it costs together: at least what surely runs, at most everything, and of a part with a budget of its own
 * no more than that.
 */
export function total(
  plan: Priced,
  prices: readonly StepPrice[],
): { readonly totalMicros: Total; readonly expectedMicros: number } {
  const { min, expected, max } = sumsOf(plan, prices).get("")!;
  return { totalMicros: { min, max }, expectedMicros: expected ?? min };
}

/** Parts that surely cost more than they may. */
export function groupProblems(plan: Priced, prices: readonly StepPrice[]): readonly Problem[] {
  const sums = sumsOf(plan, prices);
  return Object.entries(plan.groups ?? {}).flatMap(([prefix, { maxCostMicros }]): readonly Problem[] => {
    const { min } = sums.get(prefix)!;
    if (min <= maxCostMicros) return [];
    const message = `its steps cost at least ${formatUsd(min)} USD, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
    return [{ code: "over-max-cost", step: prefix, field: null, message }];
  });
}

/** Sums by the part that steps belong to, what lies in a part of it included; `""` is the whole plan. */
function sumsOf(plan: Priced, prices: readonly StepPrice[]): ReadonlyMap<string, Sums> {
  const certain = certainSteps(plan);
  const groups = plan.groups ?? {};
  // The longest prefixes first: a part is summed up before the part that holds it.
  const prefixes = Object.keys(groups).sort((a, b) => b.length - a.length);
  const sums = new Map<string, Sums>(["", ...prefixes].map((prefix) => [prefix, { min: 0, expected: 0, max: 0 }]));
  const add = (path: string, more: Sums) => {
    const within = prefixes.find((prefix) => path.startsWith(`${prefix}/`)) ?? "";
    const { min, expected, max } = sums.get(within)!;
    sums.set(within, { min: min + more.min, expected: plus(expected, more.expected), max: plus(max, more.max) });
  };
  for (const { step, costMicros, maxCostMicros, mostMicros } of prices) {
    const min = certain.has(step) ? (costMicros ?? 0) : 0;
    add(step, { min, expected: costMicros ?? maxCostMicros, max: mostMicros });
  }
  for (const prefix of prefixes) {
    const { min, expected, max } = sums.get(prefix)!;
    const { maxCostMicros: most } = groups[prefix]!;
    const within = (sum: number | null) => Math.min(sum ?? most, most);
    add(prefix, { min: within(min), expected: within(expected), max: within(max) });
  }
  return sums;
}

function plus(sum: number | null, more: number | null): number | null {
  return sum === null || more === null ? null : sum + more;
}

/** Steps that run whatever the values are: no condition on them or on what they need. */
function certainSteps({ steps }: Pick<Plan, "steps">): ReadonlySet<string> {
  const certain = new Set<string>();
  const known = new Set(steps.map(({ path }) => path));
  for (const { path, needs, when } of steps) {
    if (when === undefined && needs.every((needed) => certain.has(needed) || !known.has(needed))) certain.add(path);
  }
  return certain;
}
