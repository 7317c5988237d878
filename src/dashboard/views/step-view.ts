import {
  type AttemptView as Attempt,
  type PlanStep,
  type RunState,
  type StepView as Step,
  traitsOf,
} from "../../index.ts";
import { cut } from "./cut.ts";
import { decisionOf } from "./decision.ts";
import { mediaOf } from "./media-view.ts";
import type { AttemptView, StepView } from "./wire.ts";

/** A step as the page shows it; without a state, as it is planned. */
export function stepView(state: RunState | null, step: Step): StepView {
  const { plan, path, kind, model, status, phase, startedAt, finishedAt, quote, costMicros, heldMicros } = step;
  const own = state?.steps[path];
  const { noun, icon, needsPerson, maxInnerSteps } = traitsOf(plan);
  const isVisual = plan.yields === "image" || plan.yields === "video";
  return {
    ...{ path, kind, model, status, phase, startedAt, finishedAt, costMicros, heldMicros },
    ...{ noun, icon, hasPicture: isVisual && !needsPerson && maxInnerSteps === null },
    yields: plan.yields,
    needs: plan.needs,
    reason: reasonOf(step),
    ask: askOf(plan),
    quoteMicros: quote?.costMicros ?? null,
    basis: quote?.basis ?? null,
    attempts: step.attempts.filter((attempt) => attempt.kind !== "try").map(attemptView),
    media: state === null || own === undefined ? [] : mediaOf(state, own),
    voiceId: step.outputs.find(({ voiceId }) => voiceId !== null)?.voiceId ?? null,
    decision: state === null || own === undefined ? null : decisionOf(state, plan, own),
    reusedFrom: step.reusedFrom?.runId ?? null,
  };
}

function attemptView({ quote, error, sentAt, submittedAt, endedAt, isSuperseded, ...attempt }: Attempt): AttemptView {
  const { n, phase, model, jobId, holdMicros, costMicros, money } = attempt;
  return {
    ...{ n, phase, model, jobId, holdMicros, costMicros, money },
    quoteMicros: quote?.costMicros ?? null,
    basis: quote?.basis ?? null,
    error: error === null ? null : `${error.code}: ${cut(error.message, 500)}`,
    submittedAt: submittedAt ?? sentAt,
    completedAt: endedAt,
    superseded: isSuperseded,
  };
}

function reasonOf({ reason, status, error }: Step): string | null {
  const said = reason ?? (status === "failed" ? (error?.message ?? null) : null);
  return said === null ? null : cut(said, 500);
}

/** What the step asks for, in short: the first of these that its input has. */
function askOf(plan: PlanStep): string | null {
  const { subject } = traitsOf(plan);
  if (subject !== null) return cut(subject, 200);
  if (!("input" in plan)) return null;
  const input = plan.input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  for (const name of ["prompt", "text", "name"]) {
    const value = (input as { readonly [name: string]: unknown })[name];
    if (typeof value === "string") return cut(value, 200);
  }
  return null;
}
