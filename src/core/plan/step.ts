/** The kinds of media that a model accepts or makes. */
export type MediaKind = "image" | "video" | "audio";

/** The kind of a file that a local function writes. Models accept only media, not text files. */
export type FileKind = MediaKind | "text";

/** JSON as the journal stores it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What a step yields: files of a kind, a voice, or a JSON value. */
export type Yield = FileKind | "voice" | "value";

/**
 * A reference to another step's result inside a planned input. `as` determines what replaces the reference: a media
 * reference (`asset`), a voice id (`voice`), an uploaded file (`upload`) or the value itself (`value`).
 */
export type Reference = {
  readonly $ref: {
    readonly step: string;
    readonly as: "asset" | "voice" | "upload" | "value";
    /**
     * Which output to use. `all` inserts every output into the enclosing list. `chosen` is the output that a choice
     * selected.
     */
    readonly output: number | "all" | "chosen";
    readonly kind?: FileKind;
    /** Keys and list indexes that lead to a place inside a value. If absent, the whole value is used. */
    readonly at?: readonly (string | number)[];
  };
};

/** What happens to other steps when a step fails. See {@link Plan.onFailure} and {@link StepPolicy.onFailure}. */
export type FailurePolicy = "continue" | "failFast" | { readonly quorum: number };

/** The condition under which a step runs. If it is not met, the step and all steps that use it are skipped. */
export type Condition =
  | { readonly ref: Reference["$ref"]; readonly is: "truthy" | "falsy" }
  | { readonly ref: Reference["$ref"]; readonly equals: Json }
  /** Met if the step named by `failed` has failed, with this `code` if one is set. A skipped step has not failed. */
  | { readonly failed: string; readonly code?: string };

/** Failure code of a step that inspected and rejected an output. Only this code justifies paying for another output. */
export const NOT_ACCEPTED = "NOT_ACCEPTED";

/** Settings that change how a step runs. They do not change its request, so its fingerprint excludes them. */
export interface StepPolicy {
  /** Maximum number of attempts. A paid step is also retried after temporary failures that cost nothing. */
  readonly attempts: number;
  /** Maximum cost of one attempt, in micro-dollars. Required if the service quotes no price for the model. */
  readonly maxCostMicros: number | null;
  /** Whether outputs are copied to disk as soon as they exist. */
  readonly keep: boolean;
  /**
   * `continue`: if this step fails, the steps that use it are skipped. `failFast`: if this step fails, the run stops.
   * `quorum`: once all its dependencies have finished, the step starts if at least `quorum` of the results that it
   * references exist. If absent, the pipeline's policy applies.
   */
  readonly onFailure?: FailurePolicy;
  /** False if the step runs even when its result can no longer be used. If absent, such a step is skipped. */
  readonly prune?: false;
  /** The author's statement that the person whose voice is cloned has agreed. It is included in manifests. */
  readonly consent?: string;
  /** The media duration that the author expects, used if the input does not determine it. */
  readonly expect?: { readonly durationMs: number };
  /** How long the run waits for an accepted request, in milliseconds. If absent, there is no limit. */
  readonly withinMs?: number;
}

export interface StepBase {
  /** The step's name, unique within the plan. Segments are joined by `/`. */
  readonly path: string;
  /** Paths of the steps whose results this step uses or waits for, sorted and without duplicates. */
  readonly needs: readonly string[];
  /** Hash of the step's request. It begins with `f1_`, the version of the hash. */
  readonly fingerprint: string;
  readonly when?: Condition;
}

/** A step that submits a paid job to the service. */
export interface SubmittingStep extends StepBase {
  readonly model: string;
  /** Model input, with a {@link Reference} wherever the result of another step is inserted. */
  readonly input: Json;
  readonly yields: MediaKind | "voice";
  /** Number of outputs that the input requests. */
  readonly outputs: number;
  /**
   * The highest seed that the model accepts. A rerun chooses its new seed within this limit. Set only if Showrunner
   * assigned the seed, as it does for takes.
   */
  readonly mostSeed?: number;
  readonly policy: StepPolicy;
}

/**
 * How Showrunner avoids executing a request to a provider twice. `keyed`: an idempotency key makes it safe to repeat
 * the request. `found again`: an accepted request is not repeated, because its job can be polled. `once`: the request
 * is sent once, and a person decides if no response arrives.
 */
export type ProviderPromise = "keyed" | "found again" | "once";

/** A request to another provider's model, sent by the pipeline's own code. */
export interface ProviderStep extends StepBase {
  /** The provider and model in the AI SDK's form, `provider:model`, such as `fal.image:fal-ai/flux/dev`. */
  readonly model: string;
  /** The provider, such as `fal`. */
  readonly provider: string;
  /** The model's call options, which may contain {@link Reference}s. */
  readonly input: Json;
  readonly promise: ProviderPromise;
  /** True if the author allows Showrunner to repeat an unanswered request, which may then be charged twice. */
  readonly repeatable?: true;
  readonly policy: StepPolicy;
}

/** A decision that a step requests from a person. */
export interface Decision extends Pick<StepBase, "path"> {
  readonly shows: readonly Reference[];
  /** True if the person picks one of the shown results. References to the step then resolve to that result. */
  readonly choose: boolean;
  readonly message: string | null;
  /** Paths of the compared parts, in the order in which the results are shown. Steps of a part are named `<part>/…`. */
  readonly parts?: readonly string[];
}

/**
 * The fields of an expansion, which is a step that adds other steps. The added steps are planned and priced once the
 * value on which they depend exists.
 */
export interface ExpandingStep extends StepBase {
  readonly on: Reference;
  readonly maxSteps: number;
  /** Version of the function that adds the steps. */
  readonly version: string;
  /** Kind of the items in the result list. Null if not declared. */
  readonly yields: Yield | null;
  /** Maximum total cost of all added steps, in micro-dollars. */
  readonly maxCostMicros: number | null;
}

/** Facts about a local file, determined when the plan is made. */
export interface FileFacts {
  /** Absolute path of the file. For downloads and bytes, it is the path of Showrunner's copy. */
  readonly path: string;
  /** Hash of the URL from which the file was downloaded. */
  readonly from?: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
  /** Duration of a video or audio file, if it can be read from the file's bytes. */
  readonly durationMs?: number;
  /** Aspect ratio of an image or video as displayed: width divided by height. */
  readonly ratio?: number;
}

export const FOR_CALLERS = "for-callers";

/** A mistake in a plan. */
export interface Problem {
  /** Stable name of the mistake, such as `unknown-field`. */
  readonly code: string;
  /** Path of the step. Null if the problem concerns the pipeline's input or the whole plan. */
  readonly step: string | null;
  /**
   * Dotted path of the field, with list indexes in brackets, such as `input.images[0]`. Null if no field is at fault.
   */
  readonly field: string | null;
  /** What is wrong and what to do. */
  readonly message: string;
  /** Accepted values or field names, if they are a closed set. */
  readonly allowed?: readonly string[];
  /** Successor of a retired model. */
  readonly replacedBy?: string;
}

export interface DraftReference {
  readonly $ref: {
    readonly step: string;
    /**
     * Which output of the step is meant: its index, `all`, the `single` one, or `value`, which is a chat's answer or
     * the JSON value that a task returns besides its files.
     */
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

export interface DraftStepBase {
  readonly path: string;
  readonly after: readonly string[];
  readonly when: DraftCondition | null;
}
