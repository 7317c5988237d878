import type { PriceBasis } from "../../journal/events.ts";
import { formatUsd } from "../../kit/money.ts";
import type { Catalog } from "../../plan/catalog-port.ts";
import {
  expansionsIn,
  givesWay,
  isPaid,
  isSecondChoice,
  type Option,
  optionsAround,
  optionsIn,
  repeatedTexts,
  traitsOf,
} from "../../plan/index.ts";
import type { DraftStep, Plan, Problem } from "../../plan/plan.ts";
import { returnedReferences } from "../../run/returned.ts";

/** A possible mistake that does not prevent the plan from running. */
export interface PlanWarning {
  /**
   * `unused`: nothing uses the result of a paid step. `unread-table`: a model's table of field combinations could be
   * parsed only in part. `accepted-anyway`: an input violates that table, but the service accepts it. `option-out`: an
   * option is impossible, and the next one is used. `unlisted-chat`: the service does not list this chat model.
   * `length`: sound and images differ in length. `same-text`: a local function contains the same text as a job's input.
   */
  readonly code:
    | "unused"
    | "unread-table"
    | "accepted-anyway"
    | "option-out"
    | "unlisted-chat"
    | "length"
    | "same-text";
  /** The path of the step, or the id of the model. */
  readonly step: string;
  readonly message: string;
}

export function unusedSteps({ steps, returns }: Plan): readonly PlanWarning[] {
  const used = new Set([
    ...steps.flatMap(({ needs }) => needs),
    ...returnedReferences(returns).map(({ ref }) => ref.step),
  ]);
  // Do not report the steps inside an expansion separately.
  const inner = [...expansionsIn(steps)].map((path) => `${path}/`);
  return steps.flatMap((step): readonly PlanWarning[] => {
    if (!isPaid(step) || used.has(step.path)) return [];
    if (inner.some((prefix) => step.path.startsWith(prefix))) return [];
    const message = "costs money, but nothing uses or returns its result; use or return the result, or remove the step";
    return [{ code: "unused", step: step.path, message }];
  });
}

export function optionsOut({ steps }: Pick<Plan, "steps">): readonly PlanWarning[] {
  const out = steps.flatMap((step) => (isSecondChoice(step) ? step.second.out : []));
  return out.map(({ option, reason }) => ({ code: "option-out", step: option, message: `is ruled out: ${reason}` }));
}

/**
 * Returns a warning for each local function whose input repeats a text from a job's input, because editing one does not
 * change the other.
 */
export function textsTwice(steps: readonly DraftStep[]): readonly PlanWarning[] {
  return repeatedTexts(steps).map(({ step, field, text, of }) => {
    const shown = JSON.stringify(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
    const message = `${field} repeats ${shown} from the ${of.field} of ${of.step}: editing one does not change the other. Write the text only in ${of.step}; to use it here, call .input("${of.field}") on the handle of that step`;
    return { code: "same-text", step, message };
  });
}

const MOST_SHOWN = 60;

export function unlistedChats(chats: readonly string[], catalog: Catalog): readonly PlanWarning[] {
  const message = "is not in the service's model list and may be refused after other steps are paid for; check its id";
  return chats.flatMap((id) => (catalog.lacksChat(id) ? [{ code: "unlisted-chat", step: id, message }] : []));
}

/**
 * Returns the plan's total price. The minimum includes only steps that are sure to run; the maximum assumes the most
 * expensive choices.
 */
export function total(
  plan: Priced,
  prices: readonly StepPrice[],
): { readonly totalMicros: Total; readonly expectedMicros: number } {
  const { min, expected, max } = sumsOf(plan, prices).get("")!;
  return { totalMicros: { min, max }, expectedMicros: expected ?? min };
}

export function groupProblems(plan: Priced, prices: readonly StepPrice[]): readonly Problem[] {
  const sums = sumsOf(plan, prices);
  return Object.entries(plan.groups ?? {}).flatMap(([prefix, { maxCostMicros }]): readonly Problem[] => {
    const { min } = sums.get(prefix)!;
    if (min <= maxCostMicros) return [];
    const message = `its steps cost at least ${formatUsd(min)} USD, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
    return [{ code: "over-max-cost", step: prefix, field: null, message }];
  });
}

interface Sums extends Total {
  readonly expected: number | null;
}

type Priced = Pick<Plan, "steps" | "groups">;

const NOTHING: Sums = { min: 0, expected: 0, max: 0 };

function sumsOf(plan: Priced, prices: readonly StepPrice[]): ReadonlyMap<string, Sums> {
  const certain = certainSteps(plan);
  const groups = plan.groups ?? {};
  const options = optionsIn(plan);
  const choices = new Map([...options.values()].map(({ choice }) => [partOf(choice), choice]));
  // Longest prefixes first, so that a part is summed before its parent.
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
    // Do not add up options, because their choice combines them.
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

/** Combines the costs of a choice's options. The maximum includes the cost of earlier options that failed. */
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

function certainSteps({ steps }: Pick<Plan, "steps">): ReadonlySet<string> {
  const certain = new Set<string>();
  const known = new Set(steps.map(({ path }) => path));
  for (const { path, needs, when } of steps) {
    if (when === undefined && needs.every((needed) => certain.has(needed) || !known.has(needed))) certain.add(path);
  }
  return certain;
}

/**
 * A step or nested choice within an option, with its maximum cost in micro-dollars if it succeeds (`most`) or fails
 * (`failed`).
 */
interface Part {
  readonly most: number;
  readonly failed: number;
  readonly isPaid: boolean;
  readonly needs: ReadonlySet<string>;
}

function partOf({ path }: Option["choice"]): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function failedCosts(plan: Pick<Plan, "steps">, prices: readonly StepPrice[]): (option: string) => number {
  const options = optionsIn(plan);
  const priceOf = new Map(options.size === 0 ? [] : prices.map((price) => [price.step, price]));
  const known = new Map<string, { readonly most: number; readonly failed: number }>();

  const costsOf = (path: string) => {
    const before = known.get(path);
    if (before !== undefined) return before;
    const parts = partsOf(options.get(path)!);
    const most = [...parts.values()].reduce((sum, part) => sum + part.most, 0);
    let failed = 0;
    for (const [name, part] of parts) {
      if (!part.isPaid) continue;
      const spared = [...usersOf(name, parts)].reduce((sum, user) => sum + parts.get(user)!.most, 0);
      failed = Math.max(failed, most - spared - (part.most - part.failed));
    }
    // If the next option may start before this option has ended, this option may also be paid in full.
    const costs = { most, failed: canOverlap(options.get(path)!) ? most : failed };
    known.set(path, costs);
    return costs;
  };

  const partsOf = (option: Option) => {
    const nameOf = (path: string) => {
      const inner = optionsAround(plan, path).filter((inside) => inside.path.startsWith(`${option.path}/`));
      const outermost = inner.at(-1);
      return outermost === undefined ? path : partOf(outermost.choice);
    };
    const parts = new Map<string, Part>();
    for (const step of option.steps) {
      const { path, needs: all, when } = step;
      // A step that runs only after another step's failure does not need that step's result.
      const needs = when !== undefined && "failed" in when ? all.filter((needed) => needed !== when.failed) : all;
      const name = nameOf(path);
      const known = parts.get(name);
      const isFailedPaid = option.choice.second.rewrites === true && traitsOf(step).provider !== null;
      const costs = name === path ? stepCosts(path, isFailedPaid) : choiceCosts(path, option);
      const part = known ?? { ...costs, needs: new Set() };
      const used = needs.map(nameOf).filter((usedName) => usedName !== name);
      parts.set(name, { ...part, needs: new Set([...part.needs, ...used]) });
    }
    return parts;
  };

  /**
   * Returns the maximum cost of a step if it succeeds (`most`) and if it fails (`failed`). With `isFailedPaid`, both
   * are the same, because a provider that reports no costs may charge in full for a request that moderation refused.
   */
  const stepCosts = (path: string, isFailedPaid: boolean) => {
    const { mostMicros = 0, basis = "free" } = priceOf.get(path) ?? {};
    const most = mostMicros ?? 0;
    return { most, failed: isFailedPaid ? most : 0, isPaid: basis !== "free" && basis !== "reused" };
  };

  const choiceCosts = (path: string, outer: Option) => {
    const inner = optionsAround(plan, path).filter((option) => option.path.startsWith(`${outer.path}/`));
    let [failed, most] = [0, 0];
    for (const option of inner.at(-1)!.choice.second.options) {
      const costs = costsOf(option);
      most = Math.max(most, failed + costs.most);
      failed += costs.failed;
    }
    return { most, failed, isPaid: true };
  };

  return (option) => costsOf(option).failed;
}

function canOverlap(option: Option): boolean {
  return givesWay(option) && option.steps.some((step) => "policy" in step && step.policy.withinMs !== undefined);
}

function usersOf(name: string, parts: ReadonlyMap<string, Part>): ReadonlySet<string> {
  const found = new Set([name]);
  for (const part of found) for (const [user, { needs }] of parts) if (needs.has(part)) found.add(user);
  found.delete(name);
  return found;
}

export interface StepPrice {
  readonly step: string;
  readonly model: string | null;
  /** Price in micro-dollars. Null if the service cannot quote a price. */
  readonly costMicros: number | null;
  /**
   * `quoted`: the service quoted exactly this input. `provisional`: quoted with placeholders for results that do not
   * exist yet, and quoted again before the step is submitted. `unquotable`: the service quotes no price, so the step
   * runs only with a maximum. `free`: costs nothing, like an upload. `reused`: an earlier run already has the result.
   */
  readonly basis: PriceBasis | "free" | "reused";
  /** The maximum cost, in micro-dollars, that the step or the run allows. Null if there is none. */
  readonly maxCostMicros: number | null;
  /**
   * The highest possible cost in micro-dollars, given the longest possible input and `maxCostMicros`. Null if there is
   * no upper limit.
   */
  readonly mostMicros: number | null;
  /**
   * Explains the price, such as why there is none, or which requirements future results must meet. Null if there is
   * nothing to explain.
   */
  readonly reason: string | null;
  /** Paths of the steps whose media the model may refuse. */
  readonly conditionalOn?: readonly string[];
  /** Path of the option that this step replaces. The step runs, and is paid for, only if that option fails. */
  readonly insteadOf?: string;
  /** Why no earlier result is reused. Absent if one is reused or the reason was not determined. */
  readonly anew?: string;
}

interface Total {
  readonly min: number;
  readonly max: number | null;
}
