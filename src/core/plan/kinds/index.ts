import type { DraftStep } from "../draft.ts";
import type { PlanStep } from "../plan.ts";
import { approveKind } from "./approve.ts";
import { chatKind } from "./chat.ts";
import { expandKind } from "./expand.ts";
import { generateKind } from "./generate.ts";
import { jobKind } from "./job.ts";
import type { StepFacts, StepKind, StepTraits } from "./kind.ts";
import { pickKind } from "./pick.ts";
import { taskKind } from "./task.ts";
import { uploadKind } from "./upload.ts";

type Of<T, K> = Extract<T, { readonly kind: K }>;

const kinds: { readonly [K in DraftStep["kind"] | PlanStep["kind"]]: StepKind<Of<DraftStep, K>, Of<PlanStep, K>> } = {
  job: jobKind,
  upload: uploadKind,
  chat: chatKind,
  task: taskKind,
  generate: generateKind,
  approve: approveKind,
  pick: pickKind,
  expand: expandKind,
};

export const stepKinds = Object.keys(kinds) as readonly PlanStep["kind"][];

export function kindOf({ kind }: DraftStep | PlanStep): StepKind<DraftStep, PlanStep> {
  return kinds[kind] as unknown as StepKind<DraftStep, PlanStep>;
}

export function factsOf(step: PlanStep, known: (path: string) => StepFacts | undefined): StepFacts {
  return kindOf(step).facts(step, known);
}

const known = new WeakMap<PlanStep, StepTraits>();

export function traitsOf(step: PlanStep): StepTraits {
  const before = known.get(step);
  if (before !== undefined) return before;
  const traits = kindOf(step).traits(step);
  known.set(step, traits);
  return traits;
}

/** Returns whether the step costs money itself, rather than through the steps that it adds. */
export function isPaid(step: PlanStep): boolean {
  const { by } = traitsOf(step).pricing;
  return by === "quote" || by === "usage";
}
