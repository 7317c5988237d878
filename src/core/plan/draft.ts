import type { ModelOfKind } from "./generate-model.ts";
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
  readonly [K in keyof ModelOfKind]: { readonly kind: K; readonly model: ModelOfKind[K] };
}[keyof ModelOfKind];

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

export interface DraftReference {
  readonly $ref: {
    readonly step: string;
    /** `value` is a chat's answer, or the JSON value that a task returns besides its files. */
    readonly output: number | "all" | "single" | "value";
    readonly at?: readonly (string | number)[];
  };
}

export interface DraftAsset {
  readonly $asset: { readonly assetId: string; readonly kind: MediaKind };
}

export type DraftJson =
  | null
  | boolean
  | number
  | string
  | DraftReference
  | DraftAsset
  | readonly DraftJson[]
  | { readonly [key: string]: DraftJson };

export type DraftCondition =
  | { readonly ref: DraftReference; readonly is: "truthy" | "falsy" }
  | { readonly ref: DraftReference; readonly equals: Json }
  | { readonly failed: string; readonly code?: string };

interface DraftStepBase {
  readonly path: string;
  readonly after: readonly string[];
  readonly when: DraftCondition | null;
}

export interface JobDraft extends DraftStepBase {
  readonly kind: "job";
  readonly model: string;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  readonly seed: number | null;
  /** True if an edit set or removed the seed, so that planning adds none. */
  readonly isSeedEdited?: true;
}

export interface UploadDraft extends DraftStepBase {
  readonly kind: "upload";
  /** A path, an `http(s)` URL, or a name for the bytes. Empty after a reported mistake. */
  readonly file: string;
  readonly bytes: Uint8Array | null;
  readonly media: MediaKind | null;
  /** The private-network origin that the URL may use. Null means none. */
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
  readonly isFindable: boolean;
  readonly repeatable: boolean;
  readonly mostOutputs: number | null;
  readonly price: { readonly micros: number; readonly of: DraftJson } | null;
  readonly policy: StepPolicy;
}

export interface ApproveDraft extends DraftStepBase {
  readonly kind: "approve";
  readonly shows: readonly DraftReference[];
  readonly choose: boolean;
  readonly message: string | null;
  readonly parts?: readonly string[];
}

export interface PickDraft extends DraftStepBase {
  readonly kind: "pick";
  readonly among: readonly DraftReference[];
  readonly by: "first" | "score";
  readonly version: string | null;
  /**
   * Set if a candidate is made only after all candidates before it have failed or are late. Null if all are made at
   * once.
   */
  readonly second: SecondChoice | null;
  readonly onFailure?: "continue" | "failFast";
}

export interface ExpandDraft extends DraftStepBase {
  readonly kind: "expand";
  /** The value on which the steps depend. Null after a reported mistake. */
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
