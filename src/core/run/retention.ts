import { lastAttempt, type OutputState, outputsOf, type RunState, type StepState } from "../journal/state.ts";
import { HOUR_MS } from "../kit/duration.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import type { ProducedOutput } from "./resolve.ts";

/** How long the service keeps an output after its job completed, milliseconds. */
export const RETENTION_MS = 48 * HOUR_MS;
/** An earlier output is relied on for an hour less: what reuses it takes its time. */
export const REUSABLE_MS = RETENTION_MS - HOUR_MS;

/** When the service deletes the outputs of a step; null while it has none. */
export function expiryOf(step: StepState): number | null {
  const completedAt = step.reusedFrom?.completedAt ?? lastAttempt(step)?.completedAt ?? null;
  return completedAt === null ? null : completedAt + RETENTION_MS;
}

/** Outputs that the step made, whose files are to be here and are only at the service: the step is not finished. */
export function uncopiedOf(plan: PlanStep, step: StepState): readonly OutputState[] {
  return withoutFile(plan, step).filter(({ phase }) => phase === "available");
}

/** What the run still has to copy. */
export function uncopied({ planned, steps }: RunState): readonly ProducedOutput[] {
  return planned.plan.steps.flatMap((plan) =>
    uncopiedOf(plan, steps[plan.path]!).map((output) => ({ step: plan.path, output })),
  );
}

/** What finished steps made, and what had expired at the service before its file was here: only a rerun brings it back. */
export function lost({ planned, steps }: RunState): readonly ProducedOutput[] {
  return planned.plan.steps.flatMap((plan) => {
    const step = steps[plan.path]!;
    if (step.status !== "succeeded") return [];
    return withoutFile(plan, step).flatMap((output) => (output.phase === "expired" ? { step: plan.path, output } : []));
  });
}

function withoutFile(plan: PlanStep, step: StepState): readonly OutputState[] {
  if (!traitsOf(plan).keeps || step.outputs !== null) return [];
  return outputsOf(step).filter(({ copy, voiceId }) => copy === null && voiceId === null);
}
