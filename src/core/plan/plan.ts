import { type ApproveDraft, type ApproveStep, approveKind } from "./kinds/approve.ts";
import { type ChatDraft, type ChatStep, chatKind } from "./kinds/chat.ts";
import { type ExpandDraft, type ExpandStep, expandKind } from "./kinds/expand.ts";
import { type GenerateDraft, type GenerateModel, type GenerateStep, generateKind } from "./kinds/generate.ts";
import { type JobDraft, type JobStep, jobKind } from "./kinds/job.ts";
import type { StepFacts, StepKind, StepTraits } from "./kinds/kind.ts";
import { type PickDraft, type PickStep, pickKind } from "./kinds/pick.ts";
import { type TaskDraft, type TaskStep, taskKind } from "./kinds/task.ts";
import { type UploadDraft, type UploadStep, uploadKind } from "./kinds/upload.ts";
import type { FailurePolicy, ProviderStep, Reference } from "./step.ts";

export type * from "./step.ts";

/** A pipeline applied to an input, as plain JSON. Each step comes after the steps that it needs. */
export interface Plan {
  readonly version: 1;
  readonly pipeline: string;
  readonly steps: readonly PlanStep[];
  /** The results that the pipeline returns, by name: references, or nested lists and records of references. */
  readonly returns: { readonly [name: string]: Returned };
  /**
   * The failure policy of the run and of steps without their own. Default `continue`. `quorum`: the run succeeds once
   * this many of the returned results exist.
   */
  readonly onFailure?: FailurePolicy;
  /** Budgets of parts of the plan, keyed by the path prefix of their steps (`intro` for `intro/…`). */
  readonly groups?: { readonly [prefix: string]: { readonly maxCostMicros: number } };
}

export type Returned = Reference | readonly Returned[] | { readonly [name: string]: Returned };

/** A step of a plan, of any kind. */
export type PlanStep = JobStep | UploadStep | ChatStep | TaskStep | GenerateStep | ApproveStep | PickStep | ExpandStep;

export type DraftStep =
  | JobDraft
  | UploadDraft
  | ChatDraft
  | TaskDraft
  | GenerateDraft
  | ApproveDraft
  | PickDraft
  | ExpandDraft;

/** The kinds of steps that call a model of another provider. Each has an entry in {@link ModelOfKind}. */
export type ProviderKind = Extract<PlanStep, ProviderStep>["kind"];

/** The models that steps call, by kind of step. */
export interface ModelOfKind {
  readonly generate: GenerateModel;
}

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

const indexes = new WeakMap<Plan, ReadonlyMap<string, PlanStep>>();

export function stepNamed(plan: Plan, path: string): PlanStep | undefined {
  let index = indexes.get(plan);
  if (index === undefined) {
    index = new Map(plan.steps.map((step) => [step.path, step]));
    indexes.set(plan, index);
  }
  return index.get(path);
}

export function failurePolicyOf({ onFailure }: Plan, step: PlanStep): FailurePolicy | undefined {
  const policy = "policy" in step ? step.policy.onFailure : "onFailure" in step ? step.onFailure : undefined;
  return policy ?? onFailure;
}
