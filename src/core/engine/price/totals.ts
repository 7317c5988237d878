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

/** Something about a plan that does not stand in its way and that somebody should look at. */
export interface PlanWarning {
  /**
   * `unused`: a paid step that nothing uses. `unread-table`: rows of a model's table of combinations that cannot be read.
   * `accepted-anyway`: an input that is in no row of it, and that the service takes. `option-out`: a choice that cannot be
   * made, where another one follows. `unlisted-chat`: a chat model of which the service says that it has none. `length`: sound and
   * pictures that will not end together. `same-text`: a local function that says for itself what a job is asked with.
   */
  readonly code:
    | "unused"
    | "unread-table"
    | "accepted-anyway"
    | "option-out"
    | "unlisted-chat"
    | "length"
    | "same-text";
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

/** Options of choices that are no part of the plan any more. */
export function optionsOut({ steps }: Pick<Plan, "steps">): readonly PlanWarning[] {
  const out = steps.flatMap((step) => (isSecondChoice(step) ? step.second.out : []));
  return out.map(({ option, reason }) => ({ code: "option-out", step: option, message: `is out: ${reason}` }));
}

/** Texts that an edit of a step would leave in another one. */
export function textsTwice(steps: readonly DraftStep[]): readonly PlanWarning[] {
  return repeatedTexts(steps).map(({ step, field, text, of }) => {
    const shown = JSON.stringify(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
    const message = `${field} says ${shown}, which is also the ${of.field} of ${of.step}: an edit of one leaves the other as it was. Write it once, and give here what the handle of ${of.step} has as .input("${of.field}")`;
    return { code: "same-text", step, message };
  });
}

/** Characters of a text that is named. */
const MOST_SHOWN = 60;

/** Chat models that may not be there, found before anything is paid. */
export function unlistedChats(chats: readonly string[], catalog: Catalog): readonly PlanWarning[] {
  const message = "is no model that the service shows, and may be refused after other steps were paid; check its id";
  return chats.flatMap((id) => (catalog.lacksChat(id) ? [{ code: "unlisted-chat", step: id, message }] : []));
}

/** Steps that a text names at most. */
const MOST_NAMED = 5;

/** Steps whose price nothing bounds: nobody knows how long what they take in will be. */
export function openSteps(prices: readonly StepPrice[]): readonly string[] {
  return prices.flatMap(({ step, mostMicros }) => (mostMicros === null ? [step] : []));
}

/** A sum in words: an amount, a range and the steps that make its upper end, or from where on, with those that are open-ended. */
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

/** The steps that may cost most above their quotes, such as those of media whose length nobody knows yet. */
function upperEnd(prices: readonly StepPrice[], text: (micros: number) => string): string {
  const above = ({ mostMicros, costMicros }: StepPrice) => (mostMicros ?? 0) - (costMicros ?? 0);
  const dear = prices.filter((price) => above(price) > 0).sort((a, b) => above(b) - above(a));
  const named = dear.slice(0, MOST_NAMED).map(({ step, mostMicros }) => `${step} up to ${text(mostMicros!)}`);
  return named.length === 0 ? "" : ` (${named.join(", ")}${dear.length > named.length ? " …" : ""})`;
}

/**
 * What all of it costs together: at least what surely runs, at most everything, of second choices the dearest way through
 * them, and of a part with a budget of its own no more than that.
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

/** Micro-dollars. */
interface Sums extends Total {
  /** With what is expected of media that do not exist yet; null where something has neither a price nor a maximum. */
  readonly expected: number | null;
}

type Priced = Pick<Plan, "steps" | "groups">;

const NOTHING: Sums = { min: 0, expected: 0, max: 0 };

/**
 * Sums by the part that steps belong to, what lies in a part of it included; `""` is the whole plan. That of a part is what it
 * costs, and counts for what holds it as far as the part's budget goes.
 */
function sumsOf(plan: Priced, prices: readonly StepPrice[]): ReadonlyMap<string, Sums> {
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

/** A step of an option, or a choice in it: what it costs at most, micro-dollars, and where it fails. */
interface Part {
  readonly most: number;
  readonly failed: number;
  readonly isPaid: boolean;
  readonly needs: ReadonlySet<string>;
}

/** The path that the options of a choice are under. */
function partOf({ path }: Option["choice"]): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/**
 * What an option costs at most, micro-dollars, if it makes way for the next one: a paid step of it fails at no cost, and
 * what needs that step is not made.
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
    // What is waited for no longer is paid for in full beside the next one.
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
      // What is made because another step failed is not spared by that failure.
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

  /** A provider that does not say what it charged for what moderation ended may have charged all of it. */
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

/** Whether the next option may begin while this one is under way. */
function isWaitedFor(option: Option): boolean {
  return givesWay(option) && option.steps.some((step) => "policy" in step && step.policy.withinMs !== undefined);
}

/** What needs a part, directly or not. */
function usersOf(name: string, parts: ReadonlyMap<string, Part>): ReadonlySet<string> {
  const found = new Set([name]);
  for (const part of found) for (const [user, { needs }] of parts) if (needs.has(part)) found.add(user);
  found.delete(name);
  return found;
}

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
  /** The option that it is a second choice to: made, and paid for, only once that one is out. */
  readonly insteadOf?: string;
  /** With reuse: why the step is not reused from an earlier run. Absent where it is, or nothing is to be said. */
  readonly anew?: string;
}

/** Micro-dollars. `max` is null when something is open-ended: see `openSteps`. */
interface Total {
  readonly min: number;
  readonly max: number | null;
}
