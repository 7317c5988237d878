import type { Chosen } from "../../journal/events.ts";
import { isStepFinal, type RunState, type StepState } from "../../journal/state.ts";
import type { ApproveStep } from "../../plan/kinds/approve.ts";
import { type Decision, type Reference, traitsOf } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { gateOf } from "../readiness.ts";
import { areSkippedByCondition, missingReason, referenced } from "../resolve.ts";
import { type RunKind, wholeStep } from "./kind.ts";

const NOTHING_THERE = "there is nothing to choose from";

export const approveKind: RunKind<ApproveStep> = {
  decide,
  activity: "approval",
  span: "approval",
  localInputs: () => [],
  workedSpan: wholeStep,
  freeResult: () => null,
};

function decide(plan: ApproveStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.approval !== null) {
    const { approved, note } = step.approval;
    const noteText = note === null ? "" : `: ${note}`;
    return builder.finish(step, approved ? "succeeded" : "failed", approved ? null : `rejected${noteText}`);
  }
  if (!builder.mayStart) return;
  if (step.status !== "waiting") {
    const isGone = plan.choose && offered(builder.state, plan).length === 0;
    return isGone ? builder.skipOrFail(step, missing(builder.state, plan) ?? NOTHING_THERE, false) : undefined;
  }
  const gate = gateOf(builder.state, plan);
  if (gate?.ready === "no") return;
  if (gate?.ready === "never") return builder.skipOrFail(step, gate.reason, gate.skippedByCondition);
  const reason = missing(builder.state, plan);
  const isBlocked = plan.choose ? offered(builder.state, plan).length === 0 : reason !== null;
  if (isBlocked) {
    return builder.skipOrFail(step, reason ?? NOTHING_THERE, areSkippedByCondition(builder.state, plan.shows));
  }
  builder.start(step);
}

function missing(state: RunState, plan: ApproveStep): string | null {
  const reasons = plan.shows.map(({ $ref }) => missingReason(state, $ref));
  return reasons.find((reason) => reason !== null) ?? null;
}

export function undecided(builder: DecisionBuilder): readonly Decision[] {
  return builder.context.order.flatMap((plan) => {
    const { decision } = traitsOf(plan);
    return decision !== null && builder.state.steps[plan.path]!.status === "running" ? [decision] : [];
  });
}

export function offered(state: RunState, decision: Decision): readonly Chosen[] {
  return decision.shows.flatMap(({ $ref }, position): readonly Chosen[] => {
    if ($ref.as === "value") return missingReason(state, $ref) === null ? [{ step: $ref.step, index: position }] : [];
    if ($ref.as === "upload") return [{ step: $ref.step, index: 0 }];
    return referenced(state, $ref).map(({ step, output }) => ({ step, index: output.index }));
  });
}

/** Returns a reference to the shown value if a person can edit it. Only a single value can be edited, never media. */
export function changeable({ shows, choose }: Decision, chosen: Chosen | undefined): Reference["$ref"] | null {
  const shown = choose ? shows[chosen?.index ?? -1] : shows.length === 1 ? shows[0] : undefined;
  return shown?.$ref.as === "value" && shown.$ref.output !== "all" ? shown.$ref : null;
}

export function nothingChangeable({ path }: Decision): string {
  return `there is nothing to edit in ${path}: only a single value can be edited`;
}

export function positionOf(offer: readonly Chosen[], step: string, pick: number | string | undefined): number | string {
  const names = [...new Set(offer.map((offered) => offered.step))].join(", ");
  const advice = `pick a number from 0 to ${offer.length - 1}, or the name of the step that produced the result: ${names}.`;
  if (pick === undefined) return `${step} asks for a choice; ${advice}`;
  if (typeof pick === "number") {
    return Number.isSafeInteger(pick) && pick >= 0 && pick < offer.length
      ? pick
      : `there is no result ${pick}; ${advice}`;
  }
  const found = offer.flatMap((offered, position) => (offered.step === pick ? [position] : []));
  if (found.length === 1) return found[0]!;
  return found.length > 1
    ? `${pick} produced several results; pick a number from ${found[0]} to ${found.at(-1)}.`
    : `${step} does not offer a result from step ${JSON.stringify(pick)}; ${advice}`;
}
