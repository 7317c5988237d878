import { type ApproveDraft, type ApproveStep, approveKind } from "./kinds/approve.ts";
import { type ChatDraft, type ChatStep, chatKind } from "./kinds/chat.ts";
import { type ExpandDraft, type ExpandStep, expandKind } from "./kinds/expand.ts";
import { type GenerateDraft, type GenerateModel, type GenerateStep, generateKind } from "./kinds/generate.ts";
import { type JobDraft, type JobStep, jobKind } from "./kinds/job.ts";
import type { StepFacts, StepKind, StepTraits } from "./kinds/kind.ts";
import { type PickDraft, type PickStep, pickKind } from "./kinds/pick.ts";
import { type TaskDraft, type TaskStep, taskKind } from "./kinds/task.ts";
import { type UploadDraft, type UploadStep, uploadKind } from "./kinds/upload.ts";
import type { DraftJson, FailurePolicy, Json, Problem, ProviderStep, Reference } from "./step.ts";

export type * from "./step.ts";

/** A pipeline applied to an input, as plain JSON. Each step comes after the steps that it needs. */
export interface Plan {
  readonly version: 1;
  readonly pipeline: string;
  readonly steps: readonly PlanStep[];
  /** The results that the pipeline returns, by name: references, or nested lists and records of references. */
  readonly returns: { readonly [name: string]: Returned };
  /**
   * The failure policy of the run and of steps that have no policy of their own. Default `continue`. With `quorum`, the
   * run succeeds once the given number of returned results exists.
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

/** The kinds of steps that call another provider's model. Each has an entry in {@link ModelOfKind}. */
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

/** A file from an earlier step, as passed to a local function. The function must not change the file. */
export interface LocalFile {
  readonly path: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** The second argument of a task's function. */
export interface TaskContext {
  /** Aborted when the run is stopped. */
  readonly signal: AbortSignal;
  /** An empty folder for this attempt, created on first use. */
  readonly folder: string;
  /** Returns the path to which the function writes a declared file. Throws if the name is not declared. */
  file(name: string): string;
  /** Reports progress from 0 to 1. */
  progress(fraction: number): void;
}

/**
 * Returns what a machine lacks for running a local function and what to do about it; null if it lacks nothing. Called
 * only once for all steps that share it.
 */
export type Requirement = () => string | null | Promise<string | null>;

/** A result to score or inspect, as passed to a local function. `index` starts at 0. */
export interface Candidate extends LocalFile {
  readonly index: number;
  /** Aborted when the run stops. The function's result is then ignored. */
  readonly signal: AbortSignal;
}

export type LocalFunction = VersionedFunction | ReviseFunction | ModelOfStep;

/** The model object that a step calls. It contains the user's key and is never stored. */
type ModelOfStep = {
  readonly [K in ProviderKind]: { readonly kind: K; readonly model: ModelOfKind[K] };
}[ProviderKind];

interface ReviseFunction {
  readonly kind: "revise";
  readonly revise: (input: unknown, note: string) => unknown;
}

type VersionedFunction = { readonly version: string } & (
  | {
      readonly kind: "task";
      readonly run: (input: unknown, context: TaskContext) => unknown;
      readonly requires?: Requirement;
      readonly foresee?: Foresee;
    }
  | {
      readonly kind: "score";
      readonly score: (candidate: Candidate) => number | Promise<number>;
      readonly requires?: Requirement;
    }
  | { readonly kind: "expand"; readonly expand: (value: Json) => Draft }
);

/** A function's prediction about the film or audio that it will make. */
export interface Foreseen {
  /** Duration in seconds, or null if unknown. */
  readonly seconds: number | null;
  /** A warning to show before anything is paid for, or null. */
  readonly warning?: string | null;
  /** Why the function is certain to fail, and the field at fault. If set, the plan is refused. */
  readonly problem?: { readonly field: string; readonly message: string } | null;
}

/** What is known about a step's input media when the plan is made. */
export interface KnownMedia {
  /** Returns the expected duration of a film or audio file in seconds, or null if unknown. */
  secondsOf(media: unknown): Promise<number | null>;
  /** Returns the path of a file that the plan uploads, or null for media that don't exist yet. */
  fileOf(media: unknown): string | null;
}

export type Foresee = (input: Json, known: KnownMedia) => Foreseen | Promise<Foreseen>;

export interface Recorded {
  readonly steps: readonly DraftStep[];
  readonly returns: DraftJson;
  readonly problems: readonly Problem[];
  readonly functions: ReadonlyMap<string, LocalFunction>;
  readonly groups: NonNullable<Plan["groups"]>;
  /** Number of steps before each part (a set of takes or an included pipeline), keyed by the part's path. */
  readonly parts?: ReadonlyMap<string, number>;
  readonly onFailure: FailurePolicy | null;
}

export interface Draft extends Recorded {
  readonly pipeline: string;
  readonly title?: string;
  readonly parsedInput: Json;
}
