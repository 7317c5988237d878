import { stepNamed } from "../../plan/plan.ts";
import { isCacheable } from "../../run/request-identity.ts";
import { deferToNextDrive, done, judge, retryOrPause } from "../service/service-answers.ts";
import type { Effect } from "./effect.ts";

export const reuse: Effect<"reuse"> = async ({ step, fingerprint }, context) => {
  const { cache, reusedKeys, state } = context;
  const plan = stepNamed(state.planned.plan, step);
  if (plan === undefined || !isCacheable(plan)) return deferToNextDrive();
  try {
    const { found } = await cache.find({
      fingerprint,
      plan,
      reusedKeys: reusedKeys(),
      runId: state.runId,
      verify: true,
    });
    if (found === null) return deferToNextDrive();
    const start = state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
    return done(...start, { type: "step.reused", step, ...found });
  } catch (error) {
    return retryOrPause(judge("reuse", error), context);
  }
};
