import type { RunEvent } from "../../journal/events.ts";
import { planStep } from "../../journal/state.ts";
import { type CleanText, cleanText } from "../../kit/clean-text.ts";
import type { ExpandStep } from "../../plan/kinds/expand.ts";
import { type Problem, traitsOf } from "../../plan/plan.ts";
import { FOR_CALLERS } from "../../plan/step.ts";
import { quotedEvents } from "../../run/rerun.ts";
import { done, journalError, judge, retryOrPause } from "../service/service-answers.ts";
import type { Effect } from "./effect.ts";
import { localCode, thrownError } from "./local-code.ts";

export const expand: Effect<"expand"> = async ({ step, input: value }, context) => {
  const found = localCode(context, step, "expand");
  if ("without" in found) return found.without;
  const { code } = found;
  const failed = (reason: string, more: { readonly forCallers?: CleanText } = {}) =>
    done({ type: "step.finished", step, status: "failed", reason, ...more });
  const plan = planStep(context.state, step) as ExpandStep;
  let drafted: ReturnType<typeof code.expand>;
  try {
    drafted = code.expand(value);
  } catch (error) {
    return failed(thrownError(error, "EXPAND_FAILED").message);
  }
  try {
    const { planned, maxUnquotedMicros } = context.state;
    const within = { plan: planned.plan, overlay: planned, filesFrom: planned.filesFrom, maxUnquotedMicros };
    const grown = await context.expansions.expand(plan, drafted, within);
    if (!grown.ok) {
      const reason = `${problemsText(grown.problems)}. Fix the code and resume: the run continues from here`;
      const words = grown.problems.find(({ code }) => code === FOR_CALLERS)?.message;
      return failed(reason, words === undefined ? {} : { forCallers: cleanText(words) });
    }
    const { steps, returns, groups, prices } = grown;
    const quotes = prices.flatMap((price): readonly RunEvent[] => {
      const { step: path } = price;
      const isQuoted = steps.some((inner) => inner.path === path && traitsOf(inner).pricing.by === "quote");
      // A step that was planned before is priced when it starts.
      const isKnown = context.state.steps[path] !== undefined;
      return isQuoted && !isKnown ? quotedEvents(price, 1) : [];
    });
    return done({ type: "expand.planned", step, steps, returns, groups }, ...quotes);
  } catch (error) {
    const judged = judge("catalog", error);
    return judged.verdict === "step failed" ? failed(journalError(error).message) : retryOrPause(judged, context);
  }
};

function problemsText(problems: readonly Problem[]): string {
  return problems
    .map(({ step, field, message }) => {
      const where = [step, field].filter((part) => part !== null).join(" ");
      return where === "" ? message : `${where}: ${message}`;
    })
    .join("; ");
}
