/** The kinds of media that a model takes or makes. */
export type MediaKind = "image" | "video" | "audio";

/** The kinds of files that a local function writes; text is for people, and no model takes it. */
export type FileKind = MediaKind | "text";

/** JSON as the journal stores it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What a step yields: files of a kind, a voice, or a JSON value. */
export type Yield = FileKind | "voice" | "value";

/**
 * A reference to another step's result, as it stands inside a planned input: `{ "$ref": … }`. `as` says what takes its
 * place when the input is resolved: `asset` → a media reference, `voice` → a voice id, `upload` → a media reference to
 * an uploaded file, `value` → the value itself.
 */
export type Reference = {
  readonly $ref: {
    readonly step: string;
    readonly as: "asset" | "voice" | "upload" | "value";
    /** Which output; `all` spreads into a list, `chosen` is the picked take. */
    readonly output: number | "all" | "chosen";
    /** Kind that the referenced output has, where it is a file. */
    readonly kind?: FileKind;
    /** A place inside a value: keys and list positions. Absent: the whole value. */
    readonly at?: readonly (string | number)[];
  };
};

/** The policy for the other steps when a step fails; see {@link Plan.onFailure} and {@link StepPolicy.onFailure}. */
export type FailurePolicy = "continue" | "failFast" | { readonly quorum: number };

/** When a step runs at all. It is skipped, and all that uses it, where this does not hold. */
export type Condition =
  | { readonly ref: Reference["$ref"]; readonly is: "truthy" | "falsy" }
  | { readonly ref: Reference["$ref"]; readonly equals: Json }
  /** Holds when that step failed (not when it was skipped). */
  | { readonly failed: string /** And failed with just this code. */; readonly code?: string };

/** Code of a step that looked at something and found it wrong: nothing else is a reason to pay for another. */
export const NOT_ACCEPTED = "NOT_ACCEPTED";

/** Per-step settings that change how a step is run, never its request (they are no part of the fingerprint). */
export interface StepPolicy {
  /** Paid attempts at most; default 1. A further attempt is made only when the failed one cost nothing, or when more than 1 is set here. */
  readonly attempts: number;
  /** The most that one attempt may cost, in micro-dollars; needed when the model cannot be quoted. */
  readonly maxCostMicros: number | null;
  /** Whether outputs are copied to disk as soon as they exist. */
  readonly keep: boolean;
  /**
   * `continue`: a failure of this step skips what uses it. `failFast`: it stops the run. `quorum`: this step begins once
   * all its dependencies have finished and at least this many of the results that it refers to exist; missing ones drop out of
   * their lists. Absent: the pipeline's.
   */
  readonly onFailure?: FailurePolicy;
  /** False: runs even if no root that depends on it can succeed any more. Absent: skipped then. */
  readonly prune?: false;
  /** What is stated of the consent of the person whose voice is cloned; goes into manifests. */
  readonly consent?: string;
  /** What its author expects of the media that it makes, where the input does not say. */
  readonly expect?: { readonly durationMs: number };
  /** How long its request is waited for once it was accepted, milliseconds. Absent: for as long as it takes. */
  readonly withinMs?: number;
}

interface StepBase {
  /** Unique within the plan; segments joined by `/`. */
  readonly path: string;
  /** Paths of the steps whose results this one uses or waits for, sorted, without repeats. */
  readonly needs: readonly string[];
  /** Hash of the step's request, with references by path; version prefix `f1_`. */
  readonly fingerprint: string;
  readonly when?: Condition;
}

/** A paid job at the service. */
export interface JobStep extends StepBase {
  readonly kind: "job";
  readonly model: string;
  /** Model input with {@link Reference}s where upstream results go. */
  readonly input: Json;
  readonly yields: MediaKind | "voice";
  /** Outputs that the input requests. */
  readonly outputs: number;
  /** Its seed was counted, as those of takes are, and a rerun takes another one, up to this. Absent: its author gave it, or none. */
  readonly mostSeed?: number;
  readonly policy: StepPolicy;
}

/** A local file that is sent to the service, free of charge. */
export interface UploadStep extends StepBase {
  readonly kind: "upload";
  readonly yields: MediaKind;
  readonly file: FileFacts;
}

/**
 * A question to a chat model. At least once: the service keeps neither a key nor the answer, so that a crash may cost one
 * more. Needs `maxCostMicros`, here or for the run.
 */
export interface ChatStep extends StepBase {
  readonly kind: "chat";
  readonly model: string;
  /** Request body without `model`: `messages` and what else the service takes, with {@link Reference}s to values. */
  readonly input: Json;
  /** JSON Schema that the answer must meet; null: the answer is its text. */
  readonly schema: Json | null;
  /** How often an answer that does not meet the schema is sent back for repair. */
  readonly repairs: number;
  /** Sent once: without an answer it has failed, as it may have been charged. Absent: asked again within limits. */
  readonly once?: true;
  readonly yields: "value";
  readonly policy: StepPolicy;
}

/** A local function. At least once: a crash repeats it. */
export interface TaskStep extends StepBase {
  readonly kind: "task";
  /** Its argument, with {@link Reference}s; media arrive as local files. */
  readonly input: Json;
  /** Changed by its author when the function's request changes; part of the fingerprint. */
  readonly version: string;
  /** Files that it writes, in output order. Without any it yields a value only. */
  readonly files: readonly { readonly name: string; readonly kind: FileKind }[];
  readonly yields: FileKind | "value";
  readonly policy: StepPolicy;
}

/**
 * What is promised of a request to a provider. `keyed`: it is sent again under its key, and made once. `found again`: once it
 * was accepted, its outcome is asked for. `once`: it is sent once; without an answer a person says what became of it.
 */
export type ProviderPromise = "keyed" | "found again" | "once";

/** A request to a model of another provider, by way of the pipeline's own code. */
export interface GenerateStep extends StepBase {
  readonly kind: "generate";
  /** `provider:model` as AI SDK names them, such as `fal.image:fal-ai/flux/dev`. */
  readonly model: string;
  /** Whose it is, such as `fal`. */
  readonly provider: string;
  /** Call options of the model, with {@link Reference}s; media arrive as local files. */
  readonly input: Json;
  readonly yields: MediaKind;
  /** Outputs that the input requests. */
  readonly outputs: number;
  readonly promise: ProviderPromise;
  /** Its author allows that it is sent again without an answer, at the price of another one. Absent: never. */
  readonly repeatable?: true;
  readonly policy: StepPolicy;
}

/** A gate: a person approves or rejects results. */
export interface ApproveStep extends StepBase {
  readonly kind: "approve";
  readonly shows: readonly Reference[];
  /** Whether one of the shown results is picked; the step then resolves to that one. */
  readonly choose: boolean;
  readonly message: string | null;
  readonly yields: Yield;
  /** Of a comparison: the part that each shown result is made by, in their order: its steps are named `<part>/…`. */
  readonly parts?: readonly string[];
}

/** One of several results, chosen by order or by a scoring function. Stands for the chosen one. */
export interface PickStep extends StepBase {
  readonly kind: "pick";
  readonly among: readonly Reference[];
  readonly by: "first" | "score";
  /** Like a task's; null for `first`. */
  readonly version: string | null;
  readonly yields: Yield;
  /** Its candidates are second choices of each other. Absent: all of them are made. */
  readonly second?: SecondChoice;
  /** As that of a policy; absent: the pipeline's. */
  readonly onFailure?: "continue" | "failFast";
}

/** Options of which a later one begins only once the one before certainly comes to nothing. */
export interface SecondChoice {
  /** The option that each candidate is the result of, in their order: its steps are named `<option>/…`. */
  readonly options: readonly string[];
  /** Whether moderation of an option lets the next one begin. */
  readonly afterModeration: boolean;
  /** How long the service may be away before the next one begins, milliseconds; null: the run waits for it. */
  readonly awayMs: number | null;
  /** The last option is the one before with a rewritten prompt: it begins after moderation only. */
  readonly rewrites?: true;
  /** Options that cannot be made at all: they are no part of the plan. */
  readonly out: readonly { readonly option: string; readonly reason: string }[];
}

/** Steps that depend on a value: planned, priced and journaled once it is known, under `<path>/…`. */
export interface ExpandStep extends StepBase {
  readonly kind: "expand";
  readonly on: Reference;
  readonly maxSteps: number;
  /** Like a task's. */
  readonly version: string;
  /** The kind of items of its result list; null where that is not declared. */
  readonly yields: Yield | null;
  /** The most that its steps may cost together. */
  readonly maxCostMicros: number | null;
}

/** What a step asks a person. */
export type Decision = Pick<ApproveStep, "path" | "shows" | "choose" | "message" | "parts">;
/** A step whose inner steps come of a value, whatever its kind. */
export type ExpandingStep = Omit<ExpandStep, "kind">;
/** A step that submits a job, whatever its kind. */
export type SubmittingStep = Omit<JobStep, "kind">;

export type PlanStep = JobStep | UploadStep | ChatStep | TaskStep | GenerateStep | ApproveStep | PickStep | ExpandStep;

/** A local file, measured when the plan was made. */
export interface FileFacts {
  /** Absolute path at plan time; of what was fetched or given as bytes, that of our own copy. */
  readonly path: string;
  /** Hash of the URL that it was fetched from. */
  readonly from?: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** A pipeline applied to an input: steps in an order in which every step comes after those it needs. Plain JSON. */
export interface Plan {
  readonly version: 1;
  readonly pipeline: string;
  readonly steps: readonly PlanStep[];
  /** What the pipeline returns: names to references (or nested lists and records of them). */
  readonly returns: { readonly [name: string]: Returned };
  /**
   * Of the whole run, where a step does not say otherwise. Default `continue`. `quorum`: the run has succeeded once so
   * many of the returned results are there.
   */
  readonly onFailure?: FailurePolicy;
  /** Budgets of parts of the plan, by the path that their steps begin with (`intro` for `intro/…`). */
  readonly groups?: { readonly [prefix: string]: { readonly maxCostMicros: number } };
}

export type Returned = Reference | readonly Returned[] | { readonly [name: string]: Returned };

/** Code of a problem whose message the pipeline's own code means for its callers. */
export const FOR_CALLERS = "for-callers";

/** One thing wrong with a plan. All of them are found at once. */
export interface Problem {
  /** Literal name of the mistake, e.g. `unknown-field`. */
  readonly code: string;
  /** Step path, or null when it concerns the pipeline's own input or the whole plan. */
  readonly step: string | null;
  /** Dotted path of the field, list positions in brackets: `input.images[0]`; null when no field is at fault. */
  readonly field: string | null;
  /** What is wrong and what to do next. */
  readonly message: string;
  /** Accepted values or field names, where a closed set exists. */
  readonly allowed?: readonly string[];
  /** Successor of a retired model. */
  readonly replacedBy?: string;
}
