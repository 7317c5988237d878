import { CANNOT_BE_MADE, hasNext, optionsAround } from "../../plan/index.ts";
import type { Plan, PlanStep, Problem } from "../../plan/plan.ts";
import type { Quote } from "./quote.ts";
import { MODERATED } from "./refusal.ts";

/** Options that are out before anything is made, and why. */
type Out = ReadonlyMap<string, string>;

interface Asked {
  readonly plan: Plan;
  /** Those that are planned just now. */
  readonly steps: readonly PlanStep[];
}

/**
 * Plans without the options whose prompts moderation refuses in the estimate already, where their choice continues after
 * that. `asked`: what a plan that was made is asked prices for; null where none was.
 */
export async function withoutModerated<Made>(
  make: (out: Out) => Promise<Made>,
  asked: (made: Made) => Asked | null,
  price: (plan: Plan, steps: readonly PlanStep[]) => Promise<Pick<Quote, "problems">>,
): Promise<Made> {
  for (const out = new Map<string, string>(); ; ) {
    const result = await make(out);
    const found = asked(result);
    if (found === null) return result;
    const { plan, steps } = found;
    const doubtful = steps.filter(({ path }) => optionOf(plan, path) !== undefined);
    if (doubtful.length === 0) return result;
    const refused = (await price(plan, doubtful)).problems.filter(({ code }) => code === MODERATED);
    if (refused.length === 0) return result;
    for (const { step, message } of refused as readonly (Problem & { readonly step: string })[]) {
      const option = optionOf(plan, step)!.path;
      if (!out.has(option)) out.set(option, `${step} ${message}`);
    }
  }
}

/** Whether what is wrong with a step that is made again is wrong with its option alone, which makes way for another one. */
export function isLeftToNext(plan: Plan, { code, step }: Problem): boolean {
  if (step === null) return false;
  if (code === MODERATED) return optionOf(plan, step) !== undefined;
  return CANNOT_BE_MADE.has(code) && optionsAround(plan, step).some(hasNext);
}

/** The innermost option around a step that another one follows after moderation. */
function optionOf(plan: Plan, path: string) {
  return optionsAround(plan, path).find((option) => hasNext(option) && option.choice.second.afterModeration);
}
