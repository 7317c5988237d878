import type { AttemptState, StepState } from "../../journal/state.ts";
import { formatDuration } from "../../kit/duration.ts";
import type { JobStep } from "../../plan/plan.ts";
import { isUnsent } from "../decision.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { gateOf } from "../readiness.ts";
import { awayMsOf } from "../second-choice.ts";
import { AWAY } from "../step-failure.ts";

/** Ends an unsent option once the service has been down longer than its `awayMs`. */
export function giveWay(
  plan: JobStep,
  step: StepState,
  attempt: AttemptState | null,
  builder: DecisionBuilder,
): boolean {
  const { outage } = builder.state;
  const awayMs = outage === null || !builder.mayStart ? null : awayMsOf(builder.state, plan.path);
  if (outage === null || awayMs === null) return false;
  const { phase = "planned", n = 1 } = attempt ?? {};
  const isWithheld = isUnsent(builder.context, plan.path, { n, phase });
  if (!isWithheld && phase !== "planned" && phase !== "priced") return false;
  if (gateOf(builder.state, plan) !== null) return false;
  const endsAt = outage.since + awayMs;
  if (builder.context.now < endsAt) {
    builder.wake(endsAt);
    return false;
  }
  if (isWithheld) {
    builder.events.push({ type: "job.submit.withdrawn", step: plan.path, attempt: n, reason: "unsent" });
    return true;
  }
  builder.start(step);
  builder.finish(
    step,
    "failed",
    `${AWAY} for ${formatDuration(builder.context.now - outage.since)}: ${outage.message}`,
  );
  return true;
}
