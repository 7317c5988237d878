import { isStepFinal, type StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { approveKind } from "./approve.ts";
import { chatKind } from "./chat.ts";
import { expandKind } from "./expand.ts";
import { generateKind } from "./generate.ts";
import { jobKind } from "./job.ts";
import type { RunKind } from "./kind.ts";
import { pickKind } from "./pick.ts";
import { taskKind } from "./task.ts";
import { uploadKind } from "./upload.ts";

const kinds: { readonly [K in PlanStep["kind"]]: RunKind<Extract<PlanStep, { readonly kind: K }>> } = {
  job: jobKind,
  upload: uploadKind,
  chat: chatKind,
  task: taskKind,
  generate: generateKind,
  approve: approveKind,
  pick: pickKind,
  expand: expandKind,
};

export function runKind(kind: PlanStep["kind"]): RunKind<PlanStep> {
  return kinds[kind] as RunKind<PlanStep>;
}

export function decideStep(plan: PlanStep, step: StepState, builder: DecisionBuilder): void {
  const decide = () => runKind(plan.kind).decide(plan, step, builder);
  if (isStepFinal(step.status) || !builder.mayStart || builder.isNeeded(step.path)) return decide();
  const before = builder.events.length + builder.commands.length;
  builder.withoutNewWork(decide);
  const isBusy = builder.events.length + builder.commands.length > before;
  if (!isBusy && builder.isIdle(step)) builder.prune(step);
}
