import type { PriceBasis } from "../../journal/events.ts";
import { formatUsd } from "../../kit/money.ts";
import type { Catalog } from "../../plan/catalog-port.ts";
import type { DraftStep } from "../../plan/draft.ts";
import {
  expansionsIn,
  givesWay,
  isPaid,
  isSecondChoice,
  type Option,
  optionsAround,
  optionsIn,
  repeatedTexts,
} from "../../plan/index.ts";
import type { Plan, Problem } from "../../plan/plan.ts";
import { returnedReferences } from "../../run/resolve.ts";

/** Something to check that does not prevent the run. */
export interface PlanWarning {
  /**
   * `unused`: a paid step that nothing uses. `unread-table`: a model's combination table that was parsed only in part.
   * `accepted-anyway`: an input outside that table that the service accepts. `option-out`: an impossible option that is
   * followed by another. `unlisted-chat`: a chat model that the service says it does not have. `length`: audio and
   * pictures of different lengths. `same-text`: a local function that repeats the text of a job's input.
   */
  readonly code:
    | "unused"
    | "unread-table"
    | "accepted-anyway"
    | "option-out"
    | "unlisted-chat"
    | "length"
    | "same-text";
  /** The step's path, or the id of the model concerned. */
  readonly step: string;
  readonly message: string;
}

/** Paid steps whose results are neither used nor returned. They still run and cost money. */
export function unusedSteps({ steps, returns }: Plan): readonly PlanWarning[] {
  const used = new Set([
    ...steps.flatMap(({ needs }) => needs),
    ...returnedReferences(returns).map(({ ref }) => ref.step),
  ]);
  // Steps inside an expansion belong to it and are not reported separately.
  const inner = [...expansionsIn(steps)].map((path) => `${path}/`);
  return steps.flatMap((step): readonly PlanWarning[] => {
    if (!isPaid(step) || used.has(step.path)) return [];
    if (inner.some((prefix) => step.path.startsWith(prefix))) return [];
    const message = "is paid for, but nothing uses or returns it; use it, return it or remove it";
    return [{ code: "unused", step: step.path, message }];
  });
}

/** Warnings about options that were excluded from the plan. */
export function optionsOut({ steps }: Pick<Plan, "steps">): readonly PlanWarning[] {
  const out = steps.flatMap((step) => (isSecondChoice(step) ? step.second.out : []));
  return out.map(({ option, reason }) => ({ code: "option-out", step: option, message: `is ruled out: ${reason}` }));
}

/** Warns about texts that several steps repeat, because an edit in one step would leave them unchanged in another. */
export function textsTwice(steps: readonly DraftStep[]): readonly PlanWarning[] {
  return repeatedTexts(steps).map(({ step, field, text, of }) => {
    const shown = JSON.stringify(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
    const message = `${field} repeats ${shown}, the ${of.field} of ${of.step}: editing one does not change the other. Write the text once and use .input("${of.field}") on the handle of ${of.step} here`;
    return { code: "same-text", step, message };
  });
}

/** Maximum length of a text in a message. */
const MOST_SHOWN = 60;

/** Chat models that may not exist, reported before anything is paid for. */
export function unlistedChats(chats: readonly string[], catalog: Catalog): readonly PlanWarning[] {
  const message = "is not in the service's model list and may be refused after other steps are paid for; check its id";
  return chats.flatMap((id) => (catalog.lacksChat(id) ? [{ code: "unlisted-chat", step: id, message }] : []));
}

/** Maximum number of steps listed in text. */
const MOST_NAMED = 5;

/** Steps without a price limit, because the length of their inputs is unknown. */
export function openSteps(prices: readonly StepPrice[]): readonly string[] {
  return prices.flatMap(({ step, mostMicros }) => (mostMicros === null ? [step] : []));
}

/** A readable sum: an amount, a range with the steps behind its upper end, or a minimum and the open-ended steps. */
export function priceText(
  { min, max }: Total,
  prices: readonly StepPrice[],
  text: (micros: number) => string = formatUsd,
): string {
  if (max !== null)
    return text(min) === text(max) ? text(max) : `${text(min)} to ${text(max)}${upperEnd(prices, text)}`;
  const open = openSteps(prices).slice(0, MOST_NAMED);
  const more = openSteps(prices).length - open.length;
  return `from ${text(min)}, open-ended: ${open.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Lists the steps that may exceed their quotes by the largest amounts, such as those with media of unknown length. */
function upperEnd(prices: readonly StepPrice[], text: (micros: number) => string): string {
  const above = ({ mostMicros, costMicros }: StepPrice) => (mostMicros ?? 0) - (costMicros ?? 0);
  const dear = prices.filter((price) => above(price) > 0).sort((a, b) => above(b) - above(a));
  const named = dear.slice(0, MOST_NAMED).map(({ step, mostMicros }) => `${step} up to ${text(mostMicros!)}`);
  return named.length === 0 ? "" : ` (${named.join(", ")}${dear.length > named.length ? " …" : ""})`;
}

/**
 * Returns the total price. The minimum counts only the steps that certainly run. The maximum counts all steps, along
 * the most expensive path through second choices, and each part only up to its budget.
 */
export function total(
  plan: Priced,
  prices: readonly StepPrice[],
): { readonly totalMicros: Total; readonly expectedMicros: number } {
  const { min, expected, max } = sumsOf(plan, prices).get("")!;
  return { totalMicros: { min, max }, expectedMicros: expected ?? min };
}

/** Problems for parts of the plan that certainly cost more than their budget. */
export function groupProblems(plan: Priced, prices: readonly StepPrice[]): readonly Problem[] {
  const sums = sumsOf(plan, prices);
  return Object.entries(plan.groups ?? {}).flatMap(([prefix, { maxCostMicros }]): readonly Problem[] => {
    const { min } = sums.get(prefix)!;
    if (min <= maxCostMicros) return [];
    const message = `its steps cost at least ${formatUsd(min)} USD, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
    return [{ code: "over-max-cost", step: prefix, field: null, message }];
  });
}

/** Sums in micro-dollars. */
interface Sums extends Total {
  /** Expected cost; null if a step has neither a price nor a maximum. */
  readonly expected: number | null;
}

type Priced = Pick<Plan, "steps" | "groups">;

const NOTHING: Sums = { min: 0, expected: 0, max: 0 };

/**
 * Returns the sums for each part of the plan, including nested parts; `""` is the whole plan. A part's sum is added to
 * its parent's sum, but only up to the part's budget.
 */
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
    // Options are not added up: their choice combines them.
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

/** Returns the cost of the most expensive path through options: all earlier options fail, then one succeeds. */
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

/** Steps that always run: no condition applies to them or to the steps that they need. */
function certainSteps({ steps }: Pick<Plan, "steps">): ReadonlySet<string> {
  const certain = new Set<string>();
  const known = new Set(steps.map(({ path }) => path));
  for (const { path, needs, when } of steps) {
    if (when === undefined && needs.every((needed) => certain.has(needed) || !known.has(needed))) certain.add(path);
  }
  return certain;
}

/** A step in an option, or a nested choice: its maximum cost in micro-dollars, and its cost if it fails. */
interface Part {
  readonly most: number;
  readonly failed: number;
  readonly isPaid: boolean;
  readonly needs: ReadonlySet<string>;
}

/** The path prefix of a choice's options. */
function partOf({ path }: Option["choice"]): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/**
 * Returns a function that computes the maximum cost of a failing option, in micro-dollars: its failed step is free, and
 * the steps that need this step do not run.
 */
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
    // If the next option need not wait for this option, this option may also be paid in full.
    const costs = { most, failed: isWaitedFor(options.get(path)!) ? most : failed };
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
    for (const { path, kind, needs: all, when } of option.steps) {
      // A step that runs only if another step fails still runs after that failure.
      const needs = when !== undefined && "failed" in when ? all.filter((needed) => needed !== when.failed) : all;
      const name = nameOf(path);
      const known = parts.get(name);
      const isFailedPaid = option.choice.second.rewrites === true && kind === "generate";
      const costs = name === path ? stepCosts(path, isFailedPaid) : choiceCosts(path, option);
      const part = known ?? { ...costs, needs: new Set() };
      const used = needs.map(nameOf).filter((usedName) => usedName !== name);
      parts.set(name, { ...part, needs: new Set([...part.needs, ...used]) });
    }
    return parts;
  };

  /** Returns a step's costs. A provider that reports no costs may have charged in full for a moderated request. */
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

/** True if the next option may start while this option is in progress. */
function isWaitedFor(option: Option): boolean {
  return givesWay(option) && option.steps.some((step) => "policy" in step && step.policy.withinMs !== undefined);
}

/** Parts that need this part, directly or indirectly. */
function usersOf(name: string, parts: ReadonlyMap<string, Part>): ReadonlySet<string> {
  const found = new Set([name]);
  for (const part of found) for (const [user, { needs }] of parts) if (needs.has(part)) found.add(user);
  found.delete(name);
  return found;
}

export interface StepPrice {
  readonly step: string;
  readonly model: string | null;
  /** Micro-dollars; null if the service cannot say. */
  readonly costMicros: number | null;
  /**
   * `quoted`: the service quoted exactly this input. `provisional`: quoted with placeholders for media that do not
   * exist yet, and quoted again before the submit. `unquotable`: runs only with a maximum. `free`: costs nothing, like
   * an upload. `reused`: an earlier run already has the result.
   */
  readonly basis: PriceBasis | "free" | "reused";
  /** The maximum that the step or the run sets; null if there is none. */
  readonly maxCostMicros: number | null;
  /** The highest possible cost in micro-dollars: the price for the longest input, or the maximum. Null: open-ended. */
  readonly mostMicros: number | null;
  /** Why there is no price, or which requirements media that do not exist yet must meet. */
  readonly reason: string | null;
  /** Steps whose media the model may refuse; these media are checked before anything is bought only for this step. */
  readonly conditionalOn?: readonly string[];
  /** The option before this step's option: the step runs, and is paid for, only if that earlier option fails. */
  readonly insteadOf?: string;
  /** With reuse: why the step is not reused. Absent if it is reused, or if there is nothing to explain. */
  readonly anew?: string;
}

/** A total in micro-dollars. `max` is null if something is open-ended; see `openSteps`. */
interface Total {
  readonly min: number;
  readonly max: number | null;
}
