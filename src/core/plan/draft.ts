import type { GenerateModel } from "./generate-model.ts";
import type {
  FailurePolicy,
  FileKind,
  Json,
  MediaKind,
  Plan,
  Problem,
  SecondChoice,
  StepPolicy,
  Yield,
} from "./plan.ts";

/** A result of an earlier step, as passed to a local function: a local file, which must not be changed. */
export interface LocalFile {
  readonly path: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** What a task may use besides its input. */
export interface TaskContext {
  /** Aborted when the run is stopped. */
  readonly signal: AbortSignal;
  /** A folder for this attempt, empty at its start; created on first use. */
  readonly folder: string;
  /** Path to write a declared file to. Throws for an undeclared name. */
  file(name: string): string;
  /** Reports progress from 0 to 1. */
  progress(fraction: number): void;
}

/**
 * Checks whether a machine has what a function needs. Returns what is missing and what to do; null if nothing. Steps
 * with the same function share one answer.
 */
export type Requirement = () => string | null | Promise<string | null>;

/** One of several results, as passed to a scoring function. `index`: its position, from 0. */
export interface Candidate extends LocalFile {
  readonly index: number;
  /** Aborted once the run stops; the function's result is then ignored. */
  readonly signal: AbortSignal;
}

/** Code that a run needs and a journal cannot store, found by its step's path. */
export type LocalFunction = VersionedFunction | ReviseFunction | ModelOfStep;

/** The model object that a step calls. It contains the user's key, which neither plan nor journal does. */
interface ModelOfStep {
  readonly kind: "generate";
  readonly model: GenerateModel;
}

/** Turns a note into changes to a job's or chat's input. The plan does not contain it. */
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
  /** Records the steps for a value. They are named `<path>/…`; the result is a list of references. */
  | { readonly kind: "expand"; readonly expand: (value: Json) => Draft }
);

/** What a function predicts about the film and audio it will make. */
export interface Foreseen {
  /** Duration in seconds; null if unknown. */
  readonly seconds: number | null;
  /** A warning to show before the run is paid; null: none. */
  readonly warning?: string | null;
  /** Why the function will certainly fail, with the input field at fault; the plan is refused. Null: none is known. */
  readonly problem?: { readonly field: string; readonly message: string } | null;
}

/** What is known about input media while planning. */
export interface KnownMedia {
  /** Expected duration of a film or audio file in seconds; null if unknown. */
  secondsOf(media: unknown): Promise<number | null>;
  /** Path of a file that the plan uploads; null for media that do not exist yet. */
  fileOf(media: unknown): string | null;
}

export type Foresee = (input: Json, known: KnownMedia) => Foreseen | Promise<Foreseen>;

/** A reference that the catalog has not resolved yet. */
export interface DraftReference {
  readonly $ref: {
    readonly step: string;
    /** `value`: the JSON value that a task returns besides its files, or a chat's answer. */
    readonly output: number | "all" | "single" | "value";
    readonly at?: readonly (string | number)[];
  };
}

/** An owned asset, with its kind as the author states it. */
export interface DraftAsset {
  readonly $asset: { readonly assetId: string; readonly kind: MediaKind };
}

/** JSON with references. */
export type DraftJson =
  | null
  | boolean
  | number
  | string
  | DraftReference
  | DraftAsset
  | readonly DraftJson[]
  | { readonly [key: string]: DraftJson };

/** When a step runs; see the plan's `Condition`. */
export type DraftCondition =
  | { readonly ref: DraftReference; readonly is: "truthy" | "falsy" }
  | { readonly ref: DraftReference; readonly equals: Json }
  | { readonly failed: string; readonly code?: string };

interface DraftStepBase {
  readonly path: string;
  /** Additional steps that must finish before this one starts. */
  readonly after: readonly string[];
  readonly when: DraftCondition | null;
}

export interface JobDraft extends DraftStepBase {
  readonly kind: "job";
  readonly model: string;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  /** Used as `seed` if the model has that field and the input does not set it. */
  readonly seed: number | null;
  /** True if the seed was edited for this run: the input sets it or leaves it out. */
  readonly isSeedEdited?: true;
}

export interface UploadDraft extends DraftStepBase {
  readonly kind: "upload";
  /** A path, an `http(s)` URL, or a name for the bytes; empty after a reported mistake. */
  readonly file: string;
  readonly bytes: Uint8Array | null;
  /** Null if neither the author nor the extension states it. */
  readonly media: MediaKind | null;
  /** Allowed origin inside a network for the URL; null: none. */
  readonly inside: string | null;
}

export interface ChatDraft extends DraftStepBase {
  readonly kind: "chat";
  readonly model: string;
  readonly input: DraftJson;
  readonly schema: Json | null;
  readonly repairs: number;
  readonly once?: true;
  readonly policy: StepPolicy;
}

export interface TaskDraft extends DraftStepBase {
  readonly kind: "task";
  readonly input: DraftJson;
  readonly version: string;
  readonly files: readonly { readonly name: string; readonly kind: FileKind }[];
  readonly policy: StepPolicy;
}

export interface GenerateDraft extends DraftStepBase {
  readonly kind: "generate";
  readonly model: string;
  readonly provider: string;
  readonly input: DraftJson;
  readonly yields: MediaKind;
  /** True if the model starts work that can be polled later. */
  readonly isFindable: boolean;
  readonly repeatable: boolean;
  /** Maximum outputs per request; null if unknown. */
  readonly mostOutputs: number | null;
  /** The price that the author's function returned for that input; null if none. */
  readonly price: { readonly micros: number; readonly of: DraftJson } | null;
  readonly policy: StepPolicy;
}

export interface ApproveDraft extends DraftStepBase {
  readonly kind: "approve";
  readonly shows: readonly DraftReference[];
  readonly choose: boolean;
  readonly message: string | null;
  /** Set for a comparison; see `ApproveStep`. */
  readonly parts?: readonly string[];
}

export interface PickDraft extends DraftStepBase {
  readonly kind: "pick";
  readonly among: readonly DraftReference[];
  readonly by: "first" | "score";
  readonly version: string | null;
  /** Null if all candidates are made. */
  readonly second: SecondChoice | null;
  /** Absent: the pipeline's policy. */
  readonly onFailure?: "continue" | "failFast";
}

export interface ExpandDraft extends DraftStepBase {
  readonly kind: "expand";
  /** Null after a reported mistake. */
  readonly on: DraftReference | null;
  readonly maxSteps: number;
  readonly version: string;
  readonly yields: Yield | null;
  readonly maxCostMicros: number | null;
}

export type DraftStep =
  | JobDraft
  | UploadDraft
  | ChatDraft
  | TaskDraft
  | GenerateDraft
  | ApproveDraft
  | PickDraft
  | ExpandDraft;

/** Everything that one build recorded, including mistakes. */
export interface Recorded {
  readonly steps: readonly DraftStep[];
  readonly returns: DraftJson;
  readonly problems: readonly Problem[];
  /** Code that the run needs, by step path. */
  readonly functions: ReadonlyMap<string, LocalFunction>;
  readonly groups: NonNullable<Plan["groups"]>;
  /** Number of steps before each part (takes, included pipelines), by path. */
  readonly parts?: ReadonlyMap<string, number>;
  readonly onFailure: FailurePolicy | null;
}

/** What a pipeline records for one input, before it is checked against files and models. */
export interface Draft extends Recorded {
  readonly pipeline: string;
  /** The run's title from the pipeline; absent if it sets none. */
  readonly title?: string;
  readonly parsedInput: Json;
}
