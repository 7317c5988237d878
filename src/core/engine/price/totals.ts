import { formatUsd } from "../../kit/money.ts";
import type { Catalog } from "../../plan/catalog-port.ts";
import type { DraftStep } from "../../plan/draft.ts";
import { expansionsIn, isPaid, isSecondChoice, repeatedTexts } from "../../plan/index.ts";
import type { Plan, Problem } from "../../plan/plan.ts";
import { returnedReferences } from "../../run/resolve.ts";
import type { StepPrice, Total } from "./step-price.ts";
import { type Priced, sumsOf } from "./sums.ts";

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
