import { isStepFinal, ownAttempts, type RunState, type StepState } from "../journal/state.ts";
import { type Decision, type PlanStep, stepNamed } from "../plan/plan.ts";
import { offered } from "../run/kinds/approve.ts";
import { runKind } from "../run/kinds/index.ts";
import { missingReason } from "../run/resolve.ts";

export interface ComparedPart {
  /** Name of the alternative. If the alternatives have no names, name of the step that made the results. */
  readonly name: string;
  readonly models: readonly string[];
  readonly costMicros: number | null;
  readonly tookMs: number | null;
  readonly offered: readonly number[];
  /** Why the alternative has no result and will not get one; null if it has a result or may still get one. */
  readonly missing: string | null;
}

export function comparedParts(state: RunState, decision: Decision): readonly ComparedPart[] | null {
  if (!decision.choose) return null;
  const offer = offered(state, decision);
  if (decision.parts !== undefined) return decision.parts.map((path, at) => partOf(state, decision, { path, at }));
  const makers = [...new Set(offer.map(({ step }) => step))];
  const parts = makers.map((name): ComparedPart => {
    const positions = offer.flatMap(({ step }, position) => (step === name ? [position] : []));
    const planStep = stepNamed(state.planned.plan, name);
    return { name, ...factsOf(state, planStep === undefined ? [] : [planStep]), offered: positions, missing: null };
  });
  return new Set(parts.map(modelsOf)).size > 1 ? parts : null;
}

function modelsOf({ models }: Pick<ComparedPart, "models">): string {
  return models.join(" + ");
}

function partOf(state: RunState, decision: Decision, { path, at }: { readonly path: string; readonly at: number }) {
  const steps = state.planned.plan.steps.filter((step) => step.path.startsWith(`${path}/`));
  const shows = decision.shows.slice(0, at + 1);
  const before = offered(state, { ...decision, shows: shows.slice(0, -1) }).length;
  const { $ref } = shows[at]!;
  // A pick is a position among all offered results, so the results of earlier parts are counted first.
  const shown = offered(state, { ...decision, shows: shows.slice(-1) });
  const isOver = steps.every((step) => isStepFinal(state.steps[step.path]!.status));
  const failed = steps.find((step) => state.steps[step.path]!.status === "failed");
  const why = failed === undefined ? null : `${failed.path}: ${state.steps[failed.path]!.reason}`;
  return {
    name: path.slice(path.lastIndexOf("/") + 1),
    ...factsOf(state, steps),
    offered: shown.map((_, index) => before + index),
    missing: shown.length > 0 || !isOver ? null : (why ?? missingReason(state, $ref)),
  };
}

function factsOf(state: RunState, plans: readonly PlanStep[]): Pick<ComparedPart, "models" | "costMicros" | "tookMs"> {
  const steps = plans.map((plan) => ({ plan, step: state.steps[plan.path]! }));
  const costs = steps.flatMap(({ step }) => costsOf(step));
  const spans = steps.flatMap(({ plan, step }) => runKind(plan.kind).workedSpan(step) ?? []);
  const asked = steps.flatMap(({ plan, step }) => ("model" in plan && wasAsked(step) ? [plan.model] : []));
  return {
    models: [...new Set(asked)],
    costMicros: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    tookMs:
      spans.length === 0 ? null : Math.max(...spans.map(({ to }) => to)) - Math.min(...spans.map(({ from }) => from)),
  };
}

function wasAsked({ attempts, reusedFrom }: StepState): boolean {
  return attempts.length > 0 || reusedFrom !== null;
}

function costsOf(step: StepState): readonly number[] {
  return ownAttempts(step).flatMap(({ costMicros }) => costMicros ?? []);
}
