import type { CleanText } from "../../kit/clean-text.ts";
import type { Tags } from "../../kit/tags.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import type { AppliedProfile, StepEdits } from "../../plan/profile.ts";
import type { JobLimits } from "../../plan/slots.ts";
import type { TextChange } from "../../plan/texts.ts";

/** An error from the service or from Showrunner. URLs and secrets are removed from it. */
export interface JournalError {
  readonly code: CleanText;
  readonly message: CleanText;
  readonly retryable: boolean;
  /** Time at which a busy provider accepts requests again, in epoch milliseconds. */
  readonly retryAt?: number;
  /** The service's reason codes for rejected fields, such as `expired`. */
  readonly reasons?: readonly CleanText[];
  /** Details of a refusal by moderation. */
  readonly flagged?: Flagged;
  /** Where a local function threw the error, as `file:line:column`. It is never shown to callers of the pipeline. */
  readonly site?: CleanText;
  /** True if the pipeline's author wrote the message for callers of the pipeline. */
  readonly forCallers?: true;
}

/** What moderation objected to. A field is null if the service does not report it. */
export interface Flagged {
  readonly of: "input" | "output" | null;
  /** The field that was rejected, such as `input.prompt` or `outputs[0]`. */
  readonly field: CleanText | null;
  readonly category: CleanText | null;
}

export interface OfAttempt {
  readonly step: string;
  readonly attempt: number;
}

export type PriceBasis = "quoted" | "provisional" | "unquotable";

export interface OutputFacts {
  readonly index: number;
  readonly status: "COMPLETED" | "FAILED" | "EXPIRED";
  readonly assetId: string | null;
  readonly voiceId: string | null;
  readonly contentType: CleanText | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
  readonly error: JournalError | null;
  /** When the service deletes the output, in epoch milliseconds on the service's clock. */
  readonly expiresAt?: number;
}

/** Why a run is paused. */
export type PauseReason =
  | "funds"
  | "budget"
  | "approval"
  | "stopped"
  | "drift"
  /** Some outputs could not be downloaded. Resuming the run downloads them again without a charge. */
  | "files"
  | "unresolved"
  /** A chat request was never answered, and resending it may cost money again. */
  | "unanswered"
  /** The run waits only for requests that exceeded their time limit. */
  | "late"
  | "code"
  /** A spending cap for a period has been reached. The run may continue in the next period. */
  | "cap"
  /** The service was unreachable for too long. */
  | "unreachable"
  /** A proxy, a login page or another server responds instead of the service. */
  | "misdirected"
  /** The service rejects the API key. */
  | "credentials";

/**
 * Why the outcome of a submission is unknown:
 * - `refused`: the request was refused when it was sent again.
 * - `too old`: the idempotency key is too old to be sent again.
 * - `not found`: the service does not return the job.
 * - `older job`: the first response names a job that existed before the request.
 * - `another's job`: the response names a job of another model or step.
 * - `incomplete`: the job is completed, but some outputs are missing.
 * - `no answer`: a provider returned no usable result.
 */
export type UnresolvedCause =
  | "refused"
  | "too old"
  | "not found"
  | "older job"
  | "another's job"
  | "incomplete"
  | "no answer";

/** A file that a task wrote. */
export interface TaskFile extends OutputFacts {
  readonly name: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface StoredCopy {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** A file that a person supplied as the result of a provider's job. */
export interface GivenFile {
  readonly facts: OutputFacts;
  readonly copy: StoredCopy;
}

/** The step of an earlier run whose result is reused. */
export interface ReusedFrom {
  readonly runId: string;
  readonly step: string;
  /** Id of the service's job; null for a local function. */
  readonly jobId: string | null;
  /** When the service or the function produced the result. */
  readonly completedAt: number;
}

/** An output that a decision or a comment refers to. */
export interface Chosen {
  readonly step: string;
  readonly index: number;
}

export interface DecidedBy {
  readonly name: CleanText;
  /** False if the person only typed this name, so it was not verified. */
  readonly verified: boolean;
  /** Id of the review link that the person used, if any. */
  readonly link?: string;
}

/** A comment on a step that is waiting for a decision. */
export interface Comment {
  readonly text: CleanText;
  /** The output that the comment is about; null if it is about everything shown. */
  readonly take: Chosen | null;
  /** Position in the video or audio, in milliseconds. */
  readonly timeMs: number | null;
  readonly at: number;
  /** Who wrote the comment; null if unknown. */
  readonly by: DecidedBy | null;
}

export type StepEnd = "succeeded" | "partial" | "failed" | "skipped" | "cancelled";
export type RunEnd = "succeeded" | "partial" | "failed" | "cancelled";

/** The terms of a quote that a person accepted. */
export interface AgreedQuote {
  readonly quote: string;
  /** Maximum cost of the run. */
  readonly maximumMicros: number;
  /** The budget option of the run, which may be higher than `maximumMicros`. */
  readonly budgetMicros?: number;
  /** Steps and expansions without a known price. */
  readonly open: readonly string[];
  /** Prices that a person accepted after the quote, keyed by step path. */
  readonly prices?: { readonly [step: string]: number };
}

/** A step's price that became known only after the quote was accepted, so a person must accept it. */
export interface AskedPrice {
  readonly step: string;
  readonly costMicros: number;
}

/** Records the plan and terms of a new run. Always its first event. */
export interface RunPlanned {
  readonly type: "run.planned";
  readonly plan: Plan;
  readonly input: Json;
  readonly baseUrl: string;
  readonly keyId: string;
  /** A random value that makes idempotency keys differ between runs. */
  readonly nonce: string;
  readonly budgetMicros: number | null;
  /** The tag (`key=value`) of the runs that share the budget, if it is shared. */
  readonly budgetTag?: string;
  /** The accepted quote, if the run was started with one. */
  readonly agreed?: AgreedQuote;
  readonly maxUnquotedMicros: number | null;
  readonly limits: JobLimits;
  /** Total price quoted at the start; null if a step had no price. */
  readonly quoteMicros: number | null;
  /** Folder in which named outputs are saved. */
  readonly outDir: string;
  /** Absolute paths of files and folders that uploads may read. */
  readonly filesFrom?: readonly string[];
  /** Absolute path of the project folder that contains the journal file. */
  readonly project?: string;
  /** True if steps reuse results of identical earlier requests. */
  readonly reuse?: true;
  /** The profile that was applied to the plan. */
  readonly profile?: AppliedProfile;
  /** All edits to steps' inputs so far, applied after the profile. */
  readonly edits?: StepEdits;
  /** All text replacements in steps' inputs so far, in order. */
  readonly texts?: readonly TextChange[];
  /** False if no provenance manifests are written next to the files that the run saves. */
  readonly manifests?: false;
  /** True if result files are marked as AI-generated. */
  readonly marks?: true;
  /** One-line title. Default: the run's id. */
  readonly title?: string;
  /** Tags of the run. */
  readonly tags?: Tags;
  /** The pipeline's statement that people consented to having their voices cloned. */
  readonly consent?: string;
  /** The source file of the pipeline; null if the pipeline was passed as a value. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
  /** Hash of everything that the plan was made from; absent once the plan has changed. */
  readonly basis?: string;
  /** Version of Showrunner that planned the run. */
  readonly program: string;
}

/** A changed plan was accepted. A `step.reset` event follows for each step that runs again. */
export interface RunReplanned {
  readonly type: "run.replanned";
  readonly plan: Plan;
  /** Price of the steps that run again; null if a step has no price. */
  readonly quoteMicros: number | null;
  /** Steps that were renamed without other changes, so they keep their results. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** The references that each expansion returned, keyed by the expansion's path. */
  readonly expanded: { readonly [step: string]: readonly Reference[] };
  /** The new input, if it changed. */
  readonly input?: Json;
  /** New edits to steps' inputs, with the reason for them. */
  readonly edited?: {
    readonly steps: StepEdits;
    /** Text replacements, which apply to the inputs of all steps. */
    readonly texts?: readonly TextChange[];
    readonly note: string | null;
  };
  /** New location of the pipeline's code, if it changed. */
  readonly source?: { readonly file: string; readonly exportName: string };
}

/** The steps of an expansion were planned, because the value that determines them became known. */
export interface ExpandPlanned {
  readonly type: "expand.planned";
  readonly step: string;
  readonly steps: readonly PlanStep[];
  readonly returns: readonly Reference[];
  readonly groups: Plan["groups"];
}
