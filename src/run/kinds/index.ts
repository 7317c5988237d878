import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { Turn } from "../turn.ts";
import { isWanted, whyUnwanted } from "../wanted.ts";
import { approveStep } from "./approve.ts";
import { chatStep } from "./chat.ts";
import { expandStep } from "./expand.ts";
import { jobStep } from "./job.ts";
import { pickStep } from "./pick.ts";
import { taskStep } from "./task.ts";
import { uploadStep } from "./upload.ts";

/** Decides the next moves of one step. Every kind is one file, registered here. */
export type StepDecider<S extends PlanStep> = (plan: S, step: StepState, turn: Turn) => void;

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

export function decideStep(plan: PlanStep, step: StepState, turn: Turn): void {
  const decide = () => (deciders[plan.kind] as StepDecider<PlanStep>)(plan, step, turn);
  if (isStepFinal(step.status) || !turn.mayBegin || isWanted(turn.state, step.path)) return decide();
  const before = turn.events.length + turn.commands.length;
  turn.seeThrough(decide);
  const isBusy = turn.events.length + turn.commands.length > before;
  if (!isBusy && turn.canBeLeft(step)) turn.finish(step, "skipped", whyUnwanted(turn.state, step.path), "pruned");
}
