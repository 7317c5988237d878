/** The kinds of media that a model accepts or makes. */
export type MediaKind = "image" | "video" | "audio";

/** The kinds of files that a local function writes; text is for people, and no model accepts it. */
export type FileKind = MediaKind | "text";

/** JSON as the journal stores it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What a step yields: files of a kind, a voice, or a JSON value. */
export type Yield = FileKind | "voice" | "value";

/**
 * A reference to another step's result inside a planned input: `{ "$ref": … }`. `as` says what replaces it: `asset` → a
 * media reference, `voice` → a voice id, `upload` → a media reference to an uploaded file, `value` → the value itself.
 */
export type Reference = {
  readonly $ref: {
    readonly step: string;
    readonly as: "asset" | "voice" | "upload" | "value";
    /** Which output; `all` spreads into a list, `chosen` is the picked take. */
    readonly output: number | "all" | "chosen";
    /** Kind of the referenced file. */
    readonly kind?: FileKind;
    /** Keys and list indexes of a place inside a value. Absent: the whole value. */
    readonly at?: readonly (string | number)[];
  };
};

/** The policy for the other steps when a step fails; see {@link Plan.onFailure} and {@link StepPolicy.onFailure}. */
export type FailurePolicy = "continue" | "failFast" | { readonly quorum: number };

/** When a step runs. If the condition does not hold, the step and all that use it are skipped. */
export type Condition =
  | { readonly ref: Reference["$ref"]; readonly is: "truthy" | "falsy" }
  | { readonly ref: Reference["$ref"]; readonly equals: Json }
  /** Holds when that step failed (not when it was skipped); with `code`, only when it failed with this code. */
  | { readonly failed: string; readonly code?: string };

/** Code of a step that inspected an output and rejected it. Only this code justifies paying for another output. */
export const NOT_ACCEPTED = "NOT_ACCEPTED";

/** Settings of a step that change how it runs, but not its request, so they are not part of its fingerprint. */
export interface StepPolicy {
  /** Maximum number of paid attempts. Default 1: another attempt is made only if the failed one cost nothing. */
  readonly attempts: number;
  /** Maximum cost of one attempt, in micro-dollars; required if the model cannot be quoted. */
  readonly maxCostMicros: number | null;
  /** Whether outputs are copied to disk as soon as they exist. */
  readonly keep: boolean;
  /**
   * `continue`: if this step fails, the steps that use it are skipped. `failFast`: its failure stops the run. `quorum`:
   * the step starts once all its dependencies have finished and at least this many referenced results exist; missing
   * ones are dropped from their lists. Absent: the pipeline's policy.
   */
  readonly onFailure?: FailurePolicy;
  /** False: runs even if no root that depends on it can succeed any more. Absent: it is then skipped. */
  readonly prune?: false;
  /** The statement of consent of the person whose voice is cloned; included in manifests. */
  readonly consent?: string;
  /** Expected duration of the step's media, as stated by the author; used if the input does not determine it. */
  readonly expect?: { readonly durationMs: number };
  /** How long an accepted request is awaited, in milliseconds. Absent: until it ends. */
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

/** A paid job on the service. */
export interface JobStep extends StepBase {
  readonly kind: "job";
  readonly model: string;
  /** Model input with {@link Reference}s where upstream results go. */
  readonly input: Json;
  readonly yields: MediaKind | "voice";
  /** Number of outputs that the input requests. */
  readonly outputs: number;
  /**
   * The highest seed that the model accepts; a rerun can then use a new seed. Set only if Showrunner assigned the seed,
   * as for takes.
   */
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
 * A request to a chat model, executed at least once: the service has no idempotency keys here and keeps no answer, so a
 * crash may cost another request. Requires `maxCostMicros`, here or for the run.
 */
export interface ChatStep extends StepBase {
  readonly kind: "chat";
  readonly model: string;
  /** Request body without `model`: `messages` and the service's other fields, with {@link Reference}s to values. */
  readonly input: Json;
  /** JSON Schema that the answer must match; null: the answer is its text. */
  readonly schema: Json | null;
  /** How many times an answer that does not match the schema may be sent back for repair. */
  readonly repairs: number;
  /** True: sent once, and failed if unanswered, because it may have been charged. Absent: repeated within limits. */
  readonly once?: true;
  readonly yields: "value";
  readonly policy: StepPolicy;
}

/** A local function, executed at least once: a crash repeats it. */
export interface TaskStep extends StepBase {
  readonly kind: "task";
  /** The function's argument, with {@link Reference}s; media arrive as local files. */
  readonly input: Json;
  /** The author changes it when the function's behaviour changes; part of the fingerprint. */
  readonly version: string;
  /** Files that the function writes, in output order. Without any, it only returns a value. */
  readonly files: readonly { readonly name: string; readonly kind: FileKind }[];
  readonly yields: FileKind | "value";
  readonly policy: StepPolicy;
}

/**
 * The guarantee for a provider's request. `keyed`: repeated with its key, and executed once. `found again`: polled once
 * accepted. `once`: sent once; if unanswered, a person decides.
 */
export type ProviderPromise = "keyed" | "found again" | "once";

/** A request to another provider's model, sent by the pipeline's own code. */
export interface GenerateStep extends StepBase {
  readonly kind: "generate";
  /** `provider:model` as the AI SDK names them, such as `fal.image:fal-ai/flux/dev`. */
  readonly model: string;
  /** The provider, such as `fal`. */
  readonly provider: string;
  /** The model's call options, with {@link Reference}s; media arrive as local files. */
  readonly input: Json;
  readonly yields: MediaKind;
  /** Number of outputs that the input requests. */
  readonly outputs: number;
  readonly promise: ProviderPromise;
  /** True if the author allows repeating an unanswered request, which may cost twice. Absent: never. */
  readonly repeatable?: true;
  readonly policy: StepPolicy;
}

/** An approval: a person approves or rejects results. */
export interface ApproveStep extends StepBase {
  readonly kind: "approve";
  readonly shows: readonly Reference[];
  /** True if the person picks one of the shown results; the step then resolves to it. */
  readonly choose: boolean;
  readonly message: string | null;
  readonly yields: Yield;
  /** For a comparison: the part that makes each shown result, in order; its steps are named `<part>/…`. */
  readonly parts?: readonly string[];
}

/** A choice among results, by order or by a scoring function. Stands for the chosen one. */
export interface PickStep extends StepBase {
  readonly kind: "pick";
  readonly among: readonly Reference[];
  readonly by: "first" | "score";
  /** Like a task's version; null for `first`. */
  readonly version: string | null;
  readonly yields: Yield;
  /** Set if the candidates are second choices of each other. Absent: all of them are made. */
  readonly second?: SecondChoice;
  /** As in {@link StepPolicy}; absent: the pipeline's. */
  readonly onFailure?: "continue" | "failFast";
}

/** Options, each of which starts only once the previous one has certainly failed. */
export interface SecondChoice {
  /** The option that makes each candidate, in order; its steps are named `<option>/…`. */
  readonly options: readonly string[];
  /** True if a moderated option lets the next one start. */
  readonly afterModeration: boolean;
  /** How long the service may be unavailable before the next option starts, in milliseconds; null: the run waits. */
  readonly awayMs: number | null;
  /** True if the last option is the previous one with a rewritten prompt, which starts only after moderation. */
  readonly rewrites?: true;
  /** Options that cannot be made at all and are not in the plan. */
  readonly out: readonly { readonly option: string; readonly reason: string }[];
}

/** Steps that depend on a value: planned, priced and recorded once it is known, under `<path>/…`. */
export interface ExpandStep extends StepBase {
  readonly kind: "expand";
  readonly on: Reference;
  readonly maxSteps: number;
  /** Like a task's version. */
  readonly version: string;
  /** Kind of the items in the result list; null if not declared. */
  readonly yields: Yield | null;
  /** Maximum total cost of the added steps, in micro-dollars. */
  readonly maxCostMicros: number | null;
}

/** What a step asks a person. */
export type Decision = Pick<ApproveStep, "path" | "shows" | "choose" | "message" | "parts">;
export type ExpandingStep = Omit<ExpandStep, "kind">;
export type SubmittingStep = Omit<JobStep, "kind">;

/** A step of a plan, by `kind`. */
export type PlanStep = JobStep | UploadStep | ChatStep | TaskStep | GenerateStep | ApproveStep | PickStep | ExpandStep;

/** A local file, measured when planned. */
export interface FileFacts {
  /** Absolute path when planned; for downloads and bytes, the path of our copy. */
  readonly path: string;
  /** Hash of the URL that the file was downloaded from. */
  readonly from?: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
  /** Duration of a film or audio file, if its bytes show it. */
  readonly durationMs?: number;
  /** Aspect ratio of a picture or film as displayed: width divided by height. */
  readonly ratio?: number;
}

/** A pipeline applied to an input: its steps, each after those it needs. Plain JSON. */
export interface Plan {
  readonly version: 1;
  readonly pipeline: string;
  readonly steps: readonly PlanStep[];
  /** What the pipeline returns: names with references, or nested lists and records of them. */
  readonly returns: { readonly [name: string]: Returned };
  /**
   * The run's failure policy; steps may override it. Default `continue`. `quorum`: the run succeeds once this many
   * returned results exist.
   */
  readonly onFailure?: FailurePolicy;
  /** Budgets of parts of the plan, by the path prefix of their steps (`intro` for `intro/…`). */
  readonly groups?: { readonly [prefix: string]: { readonly maxCostMicros: number } };
}

export type Returned = Reference | readonly Returned[] | { readonly [name: string]: Returned };

/** Problem code of a message that the pipeline's code intended for its callers. */
export const FOR_CALLERS = "for-callers";

/** A mistake in a plan. All of them are reported at once. */
export interface Problem {
  /** Stable name of the mistake, such as `unknown-field`. */
  readonly code: string;
  /** Step path; null if it concerns the pipeline's input or the whole plan. */
  readonly step: string | null;
  /** Dotted path of the field with list indexes in brackets: `input.images[0]`; null if no field is at fault. */
  readonly field: string | null;
  /** What is wrong and what to do. */
  readonly message: string;
  /** Accepted values or field names, if they are a closed set. */
  readonly allowed?: readonly string[];
  /** Successor of a retired model. */
  readonly replacedBy?: string;
}
