import type { CleanText } from "../../kit/clean-text.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import type { AppliedProfile, StepEdits } from "../../plan/profile.ts";
import type { JobLimits } from "../../plan/slots.ts";
import type { TextChange } from "../../plan/texts.ts";
import type { Tags } from "../tags.ts";

/** An error of the service or of our own, as the journal keeps it: no URLs, no secrets. */
export interface JournalError {
  readonly code: CleanText;
  readonly message: CleanText;
  readonly retryable: boolean;
  /** Not to be asked again before, epoch milliseconds: of a provider that is busy and says for how long. */
  readonly retryAt?: number;
  /** Field-level reasons, e.g. `expired`. */
  readonly reasons?: readonly CleanText[];
  /** Of a refusal by moderation. */
  readonly flagged?: Flagged;
  /** Of what a local function threw: where in its author's code, as `file:line:column`. For operators, never for callers. */
  readonly site?: CleanText;
  /** Set where the pipeline's own code means the message for its callers. */
  readonly forCallers?: true;
}

/** What moderation objected to, as far as it was said. */
export interface Flagged {
  readonly of: "input" | "output" | null;
  /** Such as `input.prompt` or `outputs[0]`. */
  readonly field: CleanText | null;
  readonly category: CleanText | null;
}

/** Of which attempt of which step an event is. */
export interface OfAttempt {
  readonly step: string;
  readonly attempt: number;
}

/** How a price was found. */
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
  /** Until when the service keeps it, by the service's clock, epoch milliseconds; absent: nothing of it ends there. */
  readonly expiresAt?: number;
}

/** Why a run does not continue by itself. */
export type PauseReason =
  | "funds"
  | "budget"
  | "approval"
  | "stopped"
  | "drift"
  /** Nothing is left to do but to copy outputs that could not be fetched: resuming tries again, at no cost. */
  | "files"
  | "unresolved"
  /** Requests to a chat model were sent and never answered: one more may be charged once more. */
  | "unanswered"
  /** Nothing is left to do but to wait for requests whose `within` is over; they are asked for all the same. */
  | "late"
  | "code"
  /** A cap for a period is reached: the run continues by itself with the next period, where a process drives it. */
  | "cap"
  /** The service could not be reached for too long. */
  | "unreachable"
  /** Something answered in its place: a login page, a proxy, another server. */
  | "misdirected"
  /** It does not take the key. */
  | "credentials";

/**
 * Why the outcome of a submit is unknown. `refused`: it was refused when it was sent again. `too old`: its key is too
 * old to be sent again. `not found`: the service does not show its job. `older job`: its first send was answered with a
 * job that was there before. `incomplete`: the service calls its job completed, and its outputs are not all there.
 * `another's job`: it was answered with a job of another model, or of another step.
 * `no answer`: a provider never answered, and is not asked again.
 */
export type UnresolvedCause =
  | "refused"
  | "too old"
  | "not found"
  | "older job"
  | "another's job"
  | "incomplete"
  | "no answer";

/** A file that a task wrote: its facts, and its bytes in the media store. */
export interface TaskFile extends OutputFacts {
  readonly name: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Bytes in the media store. */
export interface StoredCopy {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** A file that a person gave as what a provider made: its facts, and its bytes in the media store. */
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
  /** When it was produced. */
  readonly completedAt: number;
}

/** One output of one step. */
export interface Chosen {
  readonly step: string;
  readonly index: number;
}

/** Who decided. */
export interface DecidedBy {
  readonly name: CleanText;
  /** False: the name was typed by whoever decided, and nobody checked it. */
  readonly verified: boolean;
  /** Id of the review link that the decision came by; absent where it came by none. */
  readonly link?: string;
}

/** What somebody said of what waits for a decision. */
export interface Comment {
  readonly text: CleanText;
  /** Of what it is said; null: of all that is shown. */
  readonly take: Chosen | null;
  /** Where in its video or sound; null: nowhere in particular. */
  readonly timeMs: number | null;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Null: whoever may act on the run. */
  readonly by: DecidedBy | null;
}

export type StepEnd = "succeeded" | "partial" | "failed" | "skipped" | "cancelled";
export type RunEnd = "succeeded" | "partial" | "failed" | "cancelled";

/** What somebody agreed to with a quote. */
export interface AgreedQuote {
  /** Its id. */
  readonly quote: string;
  /** The most that the run may cost. */
  readonly maximumMicros: number;
  /** The budget that the run was started with, where its maximum is lower. */
  readonly budgetMicros?: number;
  /** Steps, and expansions, whose price nobody knew: at each of theirs the run asks. */
  readonly open: readonly string[];
  /** What was agreed to since for steps of these, once their prices were known. */
  readonly prices?: { readonly [step: string]: number };
}

/** A price that was not known when the run was agreed to. */
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
  /** Random; makes idempotency keys of two runs differ. */
  readonly nonce: string;
  readonly budgetMicros: number | null;
  /** `key=value`: the budget is for all runs with this tag together. Absent: for this run. */
  readonly budgetTag?: string;
  /** The quote that it was started with. Absent: none. */
  readonly agreed?: AgreedQuote;
  readonly maxUnquotedMicros: number | null;
  readonly limits: JobLimits;
  /** Total of the quote when the run was made; null when a step had no price. */
  readonly quoteMicros: number | null;
  /** Folder that named files go to. */
  readonly outDir: string;
  /** Files and folders that its uploads may read, absolute. Absent: as whoever plans for it says. */
  readonly filesFrom?: readonly string[];
  /** Folder of the project that the journal file belonged to, absolute. Absent: no file. */
  readonly project?: string;
  /** Whether steps reuse results of earlier runs with identical requests. Absent: no. */
  readonly reuse?: true;
  /** The profile that the plan was made with. */
  readonly profile?: AppliedProfile;
  /** What somebody edited in the inputs of steps since, above the profile. Absent: nothing. */
  readonly edits?: StepEdits;
  /** Texts that somebody replaced in the inputs of all steps since, one after the other. Absent: none. */
  readonly texts?: readonly TextChange[];
  /** Whether named files get a manifest beside them. Absent: yes. */
  readonly manifests?: false;
  /** Whether named files say that a machine made them. Absent: as the service made them. */
  readonly marks?: true;
  /** What people call it, one line. Absent: its id. */
  readonly title?: string;
  /** Absent: none. */
  readonly tags?: Tags;
  /** What the pipeline says of the consent of those whose voices it clones. */
  readonly consent?: string;
  /** Where the pipeline came from, for `resume`; null when it was given as a value. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
  /** A hash of all that the plan was made from; absent once the plan is another. */
  readonly basis?: string;
  /** Version of Showrunner that planned it. */
  readonly program: string;
}

/** The code changed and the changes were accepted. Steps that run again follow as `step.reset`. */
export interface RunReplanned {
  readonly type: "run.replanned";
  readonly plan: Plan;
  /** Price of the steps that run again; null where a step has no price. */
  readonly quoteMicros: number | null;
  /** Steps with an identical request under another name: they keep their results. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** The expanded references of expansions that stay planned, by path. */
  readonly expanded: { readonly [step: string]: readonly Reference[] };
  /** The corrected input; absent where it is unchanged. */
  readonly input?: Json;
  /** Inputs of steps that somebody edited just now, over those of before, and why. */
  readonly edited?: {
    readonly steps: StepEdits;
    /** Replaced in the inputs of all other steps. Absent: nothing. */
    readonly texts?: readonly TextChange[];
    readonly note: string | null;
  };
  /** Where the code is now; absent where it is where it was. */
  readonly source?: { readonly file: string; readonly exportName: string };
}

/** A value was known, and its steps were planned. */
export interface ExpandPlanned {
  readonly type: "expand.planned";
  readonly step: string;
  readonly steps: readonly PlanStep[];
  readonly returns: readonly Reference[];
  readonly groups: Plan["groups"];
}
