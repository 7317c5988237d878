import type { CleanText } from "../../kit/clean-text.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import type { AppliedProfile, StepEdits } from "../../plan/profile.ts";
import type { JobLimits } from "../../plan/slots.ts";
import type { TextChange } from "../../plan/texts.ts";
import type { Tags } from "../tags.ts";

/** An error from the service or from Showrunner, without URLs and secrets. */
export interface JournalError {
  readonly code: CleanText;
  readonly message: CleanText;
  readonly retryable: boolean;
  /** Earliest time to send the request again, in epoch milliseconds. Set if a busy provider names such a time. */
  readonly retryAt?: number;
  /** The service's reason codes for rejected fields, such as `expired`. */
  readonly reasons?: readonly CleanText[];
  /** Details of a refusal by moderation. */
  readonly flagged?: Flagged;
  /** Where a local function threw, as `file:line:column`. Shown to operators, never to callers. */
  readonly site?: CleanText;
  /** True if the pipeline's code intended the message for its callers. */
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
  /** When the service deletes the output, in epoch milliseconds on the service's clock. Absent: never. */
  readonly expiresAt?: number;
}

/** Why a run is paused. */
export type PauseReason =
  | "funds"
  | "budget"
  | "approval"
  | "stopped"
  | "drift"
  /** Only failed downloads of outputs are left. A resume retries them for free. */
  | "files"
  | "unresolved"
  /** Chat requests were sent but never answered. A repeated request may be charged again. */
  | "unanswered"
  /** Only requests that exceeded their time limit (`within`) are left. These requests are still polled. */
  | "late"
  | "code"
  /** The spending cap for a period is reached. An engine continues the run in the next period. */
  | "cap"
  /** The service was unreachable for too long. */
  | "unreachable"
  /** Another server responds instead of the service, such as a login page or a proxy. */
  | "misdirected"
  /** The service rejects the key. */
  | "credentials";

/**
 * Why the outcome of a submission is unknown:
 * - `refused`: the request was refused when it was sent again.
 * - `too old`: the idempotency key is too old to be sent again.
 * - `not found`: the service does not return the job.
 * - `older job`: the response to the first send names a job that existed before.
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

/** A file that a task wrote. The media store keeps its content under `sha256`. */
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

/** A file that a person supplied as a provider's result, with its copy in the media store. */
export interface GivenFile {
  readonly facts: OutputFacts;
  readonly copy: StoredCopy;
}

/** The step of an earlier run that produced the reused result. */
export interface ReusedFrom {
  readonly runId: string;
  readonly step: string;
  /** The service's job; null for a local function. */
  readonly jobId: string | null;
  /** When the service or the function produced the result. */
  readonly completedAt: number;
}

/** One output of one step. */
export interface Chosen {
  readonly step: string;
  readonly index: number;
}

export interface DecidedBy {
  readonly name: CleanText;
  /** False if the person typed the name and nobody verified it. */
  readonly verified: boolean;
  /** Id of the review link through which the person decided. Absent: none was used. */
  readonly link?: string;
}

/** A comment on a step that waits for a decision. */
export interface Comment {
  readonly text: CleanText;
  /** The output that the comment is about; null if it is about everything shown. */
  readonly take: Chosen | null;
  /** Position in the output's video or audio, in milliseconds; null if the comment names no position. */
  readonly timeMs: number | null;
  readonly at: number;
  /** The writer; null if the writer was authorized but not identified. */
  readonly by: DecidedBy | null;
}

export type StepEnd = "succeeded" | "partial" | "failed" | "skipped" | "cancelled";
export type RunEnd = "succeeded" | "partial" | "failed" | "cancelled";

/** The terms that a person accepted with a quote. */
export interface AgreedQuote {
  readonly quote: string;
  /** Maximum cost of the run. */
  readonly maximumMicros: number;
  /** The run's original budget, if the quote's maximum is lower. */
  readonly budgetMicros?: number;
  /** Steps and expansions without a known price. The run asks a person before it spends money on each of them. */
  readonly open: readonly string[];
  /** Prices of the steps in `open` that the person accepted later, by step. */
  readonly prices?: { readonly [step: string]: number };
}

/** A price that was unknown when the quote was accepted. */
export interface AskedPrice {
  readonly step: string;
  readonly costMicros: number;
}

/** The first event of every run. */
export interface RunPlanned {
  readonly type: "run.planned";
  readonly plan: Plan;
  readonly input: Json;
  readonly baseUrl: string;
  readonly keyId: string;
  /** A random value. It gives two runs different idempotency keys. */
  readonly nonce: string;
  readonly budgetMicros: number | null;
  /** A tag as `key=value`. All runs with this tag share the budget. Absent: the budget is for this run only. */
  readonly budgetTag?: string;
  /** The accepted quote. Absent: the run was started without a quote. */
  readonly agreed?: AgreedQuote;
  readonly maxUnquotedMicros: number | null;
  readonly limits: JobLimits;
  /** Total of the quote at the start; null if a step had no price. */
  readonly quoteMicros: number | null;
  /** Folder for named files. */
  readonly outDir: string;
  /** Absolute paths of files and folders that uploads may read. Absent: determined when the run is planned. */
  readonly filesFrom?: readonly string[];
  /** Absolute path of the journal file's project folder. Absent: the journal is not a file. */
  readonly project?: string;
  /** Whether steps reuse results of identical earlier requests. Absent: no. */
  readonly reuse?: true;
  /** The profile of the plan. */
  readonly profile?: AppliedProfile;
  /** All edits of steps' inputs so far, applied on top of the profile. Absent: none. */
  readonly edits?: StepEdits;
  /** All text replacements in steps' inputs so far, in order. Absent: none. */
  readonly texts?: readonly TextChange[];
  /** Whether named files get a manifest. Absent: yes. */
  readonly manifests?: false;
  /** Whether named files are marked as machine-made. Absent: no. */
  readonly marks?: true;
  /** One-line title. Absent: the run's id. */
  readonly title?: string;
  /** Tags of the run. Absent: none. */
  readonly tags?: Tags;
  /** The pipeline's statement that the people whose voices are cloned have consented. */
  readonly consent?: string;
  /** The pipeline's source file, for `resume`; null if the pipeline was passed as a value. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
  /** A hash of everything from which the plan was made. Absent once the plan has changed. */
  readonly basis?: string;
  /** Version of Showrunner that planned the run. */
  readonly program: string;
}

/** The pipeline's code changed, and the changes were accepted. A `step.reset` follows for each step that runs again. */
export interface RunReplanned {
  readonly type: "run.replanned";
  readonly plan: Plan;
  /** Price of the steps that run again, in addition to the run's own quote; null if a step has no price. */
  readonly quoteMicros: number | null;
  /** Steps that have a new name but an identical request. They keep their results. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** The references that expansions returned, by path. Contains only expansions that are not planned again. */
  readonly expanded: { readonly [step: string]: readonly Reference[] };
  /** The new input. Absent: unchanged. */
  readonly input?: Json;
  /** New edits of steps' inputs, on top of earlier edits, with the reason. */
  readonly edited?: {
    readonly steps: StepEdits;
    /** Text replacements in all other steps' inputs. Absent: none. */
    readonly texts?: readonly TextChange[];
    readonly note: string | null;
  };
  /** The code's new location. Absent: unchanged. */
  readonly source?: { readonly file: string; readonly exportName: string };
}

/** An expansion's value is known, and its steps were planned. */
export interface ExpandPlanned {
  readonly type: "expand.planned";
  readonly step: string;
  readonly steps: readonly PlanStep[];
  readonly returns: readonly Reference[];
  readonly groups: Plan["groups"];
}
