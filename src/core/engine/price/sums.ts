import { optionsIn } from "../../plan/index.ts";
import type { Plan } from "../../plan/plan.ts";
import { failedCosts, partOf } from "./failed-options.ts";
import type { StepPrice, Total } from "./step-price.ts";

/** Micro-dollars. */
interface Sums extends Total {
  /** With what is expected of media that do not exist yet; null where something has neither a price nor a maximum. */
  readonly expected: number | null;
}

export type Priced = Pick<Plan, "steps" | "groups">;

const NOTHING: Sums = { min: 0, expected: 0, max: 0 };

/**
 * Sums by the part that steps belong to, what lies in a part of it included; `""` is the whole plan. That of a part is what it
 * costs, and counts for what holds it as far as the part's budget goes.
 */
export function sumsOf(plan: Priced, prices: readonly StepPrice[]): ReadonlyMap<string, Sums> {
  const certain = certainSteps(plan);
  const groups = plan.groups ?? {};
  const options = optionsIn(plan);
  const choices = new Map([...options.values()].map(({ choice }) => [partOf(choice), choice]));
  // The longest prefixes first: a part is summed up before the part that holds it.
  const prefixes = [...new Set([...Object.keys(groups), ...options.keys(), ...choices.keys()])];
  prefixes.sort((a, b) => b.length - a.length);
  const sums = new Map<string, Sums>(["", ...prefixes].map((prefix) => [prefix, NOTHING]));
  const add = (path: string, more: Sums) => {
    const within = prefixes.find((prefix) => path.startsWith(`${prefix}/`)) ?? "";
    sums.set(within, both(sums.get(within)!, more));
  };
  for (const { step, costMicros, maxCostMicros, mostMicros } of prices) {
    const min = certain.has(step) ? (costMicros ?? 0) : 0;
    add(step, { min, expected: costMicros ?? maxCostMicros, max: mostMicros });
  }
  const failed = failedCosts(plan, prices);
  for (const prefix of prefixes) {
    const choice = choices.get(prefix);
    if (choice !== undefined) {
      const ways = choice.second.options.map((path) => ({ ...sums.get(path)!, failed: failed(path) }));
      sums.set(prefix, both(sums.get(prefix)!, oneAfterTheOther(ways)));
    }
    // Options are no sum of each other: their choice takes them together.
    if (options.has(prefix)) continue;
    const limit = groups[prefix]?.maxCostMicros;
    const sum = sums.get(prefix)!;
    add(prefix, limit === undefined ? sum : atMost(sum, limit));
  }
  return sums;
}

function both(sums: Sums, otherSums: Sums): Sums {
  const { min, expected, max } = otherSums;
  return { min: sums.min + min, expected: plus(sums.expected, expected), max: plus(sums.max, max) };
}

/** The dearest way through options is to pay for one after all that the failed ones before it cost. */
function oneAfterTheOther(options: readonly (Sums & { readonly failed: number })[]): Sums {
  let before = 0;
  let max: number | null = 0;
  for (const option of options) {
    max = max === null || option.max === null ? null : Math.max(max, before + option.max);
    before += option.failed;
  }
  return { min: Math.min(...options.map(({ min }) => min)), expected: options[0]!.expected, max };
}

function atMost({ min, expected, max }: Sums, limit: number): Sums {
  const within = (sum: number | null) => Math.min(sum ?? limit, limit);
  return { min: within(min), expected: within(expected), max: within(max) };
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
