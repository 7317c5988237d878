import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { isNeeded, whyPruned } from "../pruning.ts";
import { approveStep } from "./approve.ts";
import { chatStep } from "./chat.ts";
import { expandStep } from "./expand.ts";
import { jobStep } from "./job.ts";
import { pickStep } from "./pick.ts";
import { taskStep } from "./task.ts";
import { uploadStep } from "./upload.ts";

/** Decides the next moves of one step. Every kind is one file, registered here. */
export type StepDecider<S extends PlanStep> = (plan: S, step: StepState, builder: DecisionBuilder) => void;

const deciders: { readonly [K in PlanStep["kind"]]: StepDecider<Extract<PlanStep, { readonly kind: K }>> } = {
  job: jobStep,
  upload: uploadStep,
  chat: chatStep,
  task: taskStep,
  approve: approveStep,
  pick: pickStep,
  expand: expandStep,
};

/** Every kind of step that a run can decide. */
export const planStepKinds = Object.keys(deciders) as readonly PlanStep["kind"][];

export function decideStep(plan: PlanStep, step: StepState, builder: DecisionBuilder): void {
  const decide = () => (deciders[plan.kind] as StepDecider<PlanStep>)(plan, step, builder);
  if (isStepFinal(step.status) || !builder.mayStart || isNeeded(builder.state, step.path)) return decide();
  const before = builder.events.length + builder.commands.length;
  builder.withoutNewWork(decide);
  const isBusy = builder.events.length + builder.commands.length > before;
  if (!isBusy && builder.isIdle(step)) builder.finish(step, "skipped", whyPruned(builder.state, step.path), "pruned");
}
