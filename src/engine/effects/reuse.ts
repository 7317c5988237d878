import { stepNamed } from "../../plan/plan-index.ts";
import { isCacheable } from "../../run/request-identity.ts";
import { judge } from "../service/service-answers.ts";
import type { Effect } from "./effect.ts";
import { retryOrPause } from "./retry-or-pause.ts";

const NOT_FOUND = { events: [], againInMs: Number.POSITIVE_INFINITY };

/** Reuses the result of an identical request of an earlier run, where it still exists. Costs nothing either way. */
export const reuse: Effect<"reuse"> = async ({ step, fingerprint }, context) => {
  const { cache, claimed, state } = context;
  const plan = stepNamed(state.planned.plan, step);
  if (plan === undefined || !isCacheable(plan)) return NOT_FOUND;
  try {
    const { found } = await cache.find({ fingerprint, plan, claimed: claimed(), runId: state.runId, verify: true });
    if (found === null) return NOT_FOUND;
    const start = state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
    return { events: [...start, { type: "step.reused", step, ...found }] };
  } catch (error) {
    return retryOrPause(judge("reuse", error), context);
  }
};
