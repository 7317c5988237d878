import type { OutputFacts, RunEvent } from "../journal/events.ts";
import { lastAttempt, type OutputState, outputsOf, type RunState, type StepState } from "../journal/state.ts";
import { DAY_MS, HOUR_MS } from "../kit/duration.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import { type ProducedOutput, referenced } from "./resolve.ts";

/** An earlier output is reused only if it stays available for longer than this. */
export const REUSE_MARGIN_MS = HOUR_MS;
/** An expired output may still be downloadable for this long. */
export const ERASED_AFTER_MS = 3 * DAY_MS;

/** `now`: the time on the service's clock. */
export function isOver({ expiresAt }: Pick<OutputFacts, "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

export function lapsed(state: RunState, plan: PlanStep, now: number): readonly RunEvent[] {
  const used = traitsOf(plan).uses.flatMap((ref) => (ref.as === "asset" ? referenced(state, ref) : []));
  const over = used.filter(({ output }) => isTaken(output) && isOver(output, now));
  const unique = new Map(over.map((produced) => [produced.output, produced]));
  return [...unique.values()].map(({ step, output }) => lapse(state.steps[step]!, output));
}

function isTaken({ phase, voiceId }: OutputState): boolean {
  return voiceId === null && (phase === "available" || phase === "downloaded");
}

/** Attempt 0 stands for an output that was reused from an earlier run. */
export function lapse(step: StepState, { index }: Pick<OutputState, "index">): RunEvent {
  const attempt = step.outputs !== null ? 0 : (lastAttempt(step)?.n ?? 0);
  return { type: "output.lapsed", step: step.path, attempt, index };
}

export function uncopiedOf(plan: PlanStep, step: StepState): readonly OutputState[] {
  const isKept = traitsOf(plan).keeps && step.outputs === null;
  return outputsOf(step).filter(({ phase, copy, voiceId }) => {
    return copy === null && voiceId === null && (phase === "lapsed" || (isKept && phase === "available"));
  });
}

export function uncopied({ planned, steps }: RunState): readonly ProducedOutput[] {
  return planned.plan.steps.flatMap((plan) =>
    uncopiedOf(plan, steps[plan.path]!).map((output) => ({ step: plan.path, output })),
  );
}

/** Returns outputs that expired before they were copied, so only a rerun can restore them. */
export function lost({ planned, steps }: RunState): readonly ProducedOutput[] {
  return planned.plan.steps.flatMap((plan) => {
    const step = steps[plan.path]!;
    if (step.status !== "succeeded" || !traitsOf(plan).keeps || step.outputs !== null) return [];
    return outputsOf(step).flatMap((output) => {
      const isLost = output.phase === "expired" && output.copy === null && output.voiceId === null;
      return isLost ? { step: plan.path, output } : [];
    });
  });
}
