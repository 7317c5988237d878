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

/** A result of an earlier step as a local function sees it: a file on this machine, to be read and not changed. */
export interface LocalFile {
  readonly path: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** What a task may use beside its input. */
export interface TaskContext {
  /** Aborted when the run is stopped. */
  readonly signal: AbortSignal;
  /** A folder of its own, empty at the start of every try; made when it or a file in it is first asked for. */
  readonly folder: string;
  /** Where a declared file must be written to. Throws for a name that was not declared. */
  file(name: string): string;
  /** Says how far it is, from 0 to 1. */
  progress(fraction: number): void;
}

/**
 * Looks whether a machine has what a function needs: what is missing, with what to do; null when nothing is. Steps with the
 * same function share one answer.
 */
export type Requirement = () => string | null | Promise<string | null>;

/** One of several results, as a scoring function sees it. `index` counts from 0 in the order in which they were given. */
export interface Candidate extends LocalFile {
  readonly index: number;
  /** Aborted once the run stops; what the function says is not waited for then. */
  readonly signal: AbortSignal;
}

/** Code that a run needs and no journal can hold; found again by the path of its step. */
export type LocalFunction = VersionedFunction | ReviseFunction | ModelOfStep;

/** The model that a step asks: it holds the user's key, and no plan and no journal does. */
interface ModelOfStep {
  readonly kind: "generate";
  readonly model: GenerateModel;
}

/** What a note changes in the input of a job or a chat. The plan knows nothing of it. */
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
  /** Records the steps for a value; they are named `<path>/…`, and what is returned is a list of references. */
  | { readonly kind: "expand"; readonly expand: (value: Json) => Draft }
);

/** What is expected of the films and sounds that a function makes, before they are there. */
export interface Foreseen {
  /** How long they will be, seconds; null where nothing says so. */
  readonly seconds: number | null;
  /** What somebody should know of that before it is paid for; null: nothing. */
  readonly warning?: string | null;
}

/** `secondsOf`: how long a film or sound of the input is expected to be; null where nothing says so. */
export type Foresee = (input: Json, secondsOf: (media: unknown) => number | null) => Foreseen;

/** A reference before the catalog has resolved it. */
export interface DraftReference {
  readonly $ref: {
    readonly step: string;
    /** `value`: the JSON value that a task yields beside its files, or that a chat answers. */
    readonly output: number | "all" | "single" | "value";
    readonly at?: readonly (string | number)[];
  };
}

/** An owned asset with the kind of media that the writer says it is. */
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

/** When a step runs at all; see `Condition` of the plan. */
export type DraftCondition =
  | { readonly ref: DraftReference; readonly is: "truthy" | "falsy" }
  | { readonly ref: DraftReference; readonly equals: Json }
  | { readonly failed: string; readonly code?: string };

interface DraftStepBase {
  readonly path: string;
  /** Steps that must be over before this one begins, beside those it uses. */
  readonly after: readonly string[];
  readonly when: DraftCondition | null;
}

export interface JobDraft extends DraftStepBase {
  readonly kind: "job";
  readonly model: string;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  /** Taken as `seed` where the model has such a field and the input says none. */
  readonly seed: number | null;
  /** Somebody edited it for this run: the input says it, or leaves it out. */
  readonly isSeedEdited?: true;
}

export interface UploadDraft extends DraftStepBase {
  readonly kind: "upload";
  /** A path, an `http` or `https` URL, or a name for the bytes; empty after a mistake that was reported. */
  readonly file: string;
  readonly bytes: Uint8Array | null;
  /** Null when neither the writer nor the file's ending says. */
  readonly media: MediaKind | null;
  /** Origin inside a network that the URL may be of; null: none. */
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
  /** Whether the model starts work that it can be asked for again. */
  readonly isFindable: boolean;
  readonly repeatable: boolean;
  /** Outputs of one request at most; null: not known. */
  readonly mostOutputs: number | null;
  /** What the author's own function says of that input; null: it says nothing. */
  readonly price: { readonly micros: number; readonly of: DraftJson } | null;
  readonly policy: StepPolicy;
}

export interface ApproveDraft extends DraftStepBase {
  readonly kind: "approve";
  readonly shows: readonly DraftReference[];
  readonly choose: boolean;
  readonly message: string | null;
  /** Of a comparison; see `ApproveStep`. */
  readonly parts?: readonly string[];
}

export interface PickDraft extends DraftStepBase {
  readonly kind: "pick";
  readonly among: readonly DraftReference[];
  readonly by: "first" | "score";
  readonly version: string | null;
  /** Null where all candidates are made. */
  readonly second: SecondChoice | null;
  /** Absent: the pipeline's. */
  readonly onFailure?: "continue" | "failFast";
}

export interface ExpandDraft extends DraftStepBase {
  readonly kind: "expand";
  /** Null after a mistake that was reported. */
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

/** Everything that one build wrote down, mistakes included. */
export interface Recorded {
  readonly steps: readonly DraftStep[];
  readonly returns: DraftJson;
  readonly problems: readonly Problem[];
  /** Code that the run needs, by step path. */
  readonly functions: ReadonlyMap<string, LocalFunction>;
  readonly groups: NonNullable<Plan["groups"]>;
  /** How many steps stood before each part (takes, included pipelines), by its path. */
  readonly parts?: ReadonlyMap<string, number>;
  readonly onFailure: FailurePolicy | null;
}

/** What a pipeline says for one input, not yet held against files and models. */
export interface Draft extends Recorded {
  readonly pipeline: string;
  /** What the pipeline calls a run of this input. Absent: nothing. */
  readonly title?: string;
  readonly parsedInput: Json;
}
