import type { DraftStep, FailurePolicy, Json, ModelOfKind, Plan, Problem, ProviderKind } from "./plan.ts";
import type { DraftJson } from "./step.ts";

/** A result of an earlier step, as a local function receives it. The function must not change the file. */
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
 * Checks whether a machine has what a function needs. Returns what is missing and what to do about it, or null. Steps
 * with the same function share one check.
 */
export type Requirement = () => string | null | Promise<string | null>;

/** One of several results, as a scoring function receives it. `index` starts at 0. */
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

/** Looks up what is known about a step's input media while the run is planned. */
export interface KnownMedia {
  /** Returns the expected duration of a film or audio file in seconds, or null if unknown. */
  secondsOf(media: unknown): Promise<number | null>;
  /** Returns the path of the media file if the plan uploads it, or null if the file does not exist yet. */
  fileOf(media: unknown): string | null;
}

export type Foresee = (input: Json, known: KnownMedia) => Foreseen | Promise<Foreseen>;

export interface Recorded {
  readonly steps: readonly DraftStep[];
  readonly returns: DraftJson;
  readonly problems: readonly Problem[];
  readonly functions: ReadonlyMap<string, LocalFunction>;
  readonly groups: NonNullable<Plan["groups"]>;
  /** Number of steps before each part (takes or an included pipeline), keyed by the part's path. */
  readonly parts?: ReadonlyMap<string, number>;
  readonly onFailure: FailurePolicy | null;
}

export interface Draft extends Recorded {
  readonly pipeline: string;
  readonly title?: string;
  readonly parsedInput: Json;
}
