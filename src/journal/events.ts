import type { CleanText } from "../clean-text.ts";
import type { Json, Plan, PlanStep, Reference } from "../plan/plan.ts";
import type { AppliedProfile } from "../plan/profile.ts";

/** Version of the event shapes below; stored with every event. */
export const EVENT_VERSION = 1;

/** An error of the service or of our own, as the journal keeps it: no URLs, no secrets. */
export interface JournalError {
  readonly code: CleanText;
  readonly message: CleanText;
  readonly retryable: boolean;
  /** Field-level reasons, e.g. `expired`. */
  readonly reasons?: readonly CleanText[];
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
}

export interface RunLimits {
  readonly total: number;
  readonly perModel: { readonly [model: string]: number };
  readonly perModality: { readonly [modality: string]: number };
}

/** Why a run does not go on by itself. */
export type PauseReason =
  | "funds"
  | "budget"
  | "approval"
  | "stopped"
  | "drift"
  | "unresolved"
  /** Requests to a chat model were sent and never answered: one more may be charged once more. */
  | "unanswered"
  | "code"
  /** The service could not be reached for too long. */
  | "unreachable"
  /** Something answered in its place: a login page, a proxy, another server. */
  | "misdirected"
  /** It does not take the key. */
  | "credentials";

/**
 * Why nobody knows what became of a submit. `refused`: it was refused when it was sent again. `too old`: its key is too
 * old to be sent again. `not found`: the service does not show its job. `older job`: its first send was answered with a
 * job that was there before.
 */
export type UnresolvedCause = "refused" | "too old" | "not found" | "older job";

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

/** The step of an earlier run that made what a step stands for. */
export interface ReusedFrom {
  readonly runId: string;
  readonly step: string;
  /** The service's job; null for a local function. */
  readonly jobId: string | null;
  /** When it was made. */
  readonly madeAt: number;
}

/** One output of one step. */
export interface Chosen {
  readonly step: string;
  readonly index: number;
}

export type StepEnd = "succeeded" | "partial" | "failed" | "skipped" | "cancelled";
export type RunEnd = "succeeded" | "partial" | "failed" | "cancelled";

/**
 * Everything that can happen to a run: the one union that journal, fold, CLI, dashboard and logs share. `step` is a
 * step path, `attempt` counts from 1, money is micro-dollars, instants are epoch milliseconds.
 */
export type RunEvent =
  | {
      readonly type: "run.planned";
      readonly plan: Plan;
      readonly input: Json;
      readonly baseUrl: string;
      readonly keyId: string;
      /** Random; makes idempotency keys of two runs differ. */
      readonly nonce: string;
      readonly budgetMicros: number | null;
      readonly maxUnquotedMicros: number | null;
      readonly limits: RunLimits;
      /** Total of the quote when the run was made; null when a step had no price. */
      readonly quoteMicros: number | null;
      /** Folder that named files go to. */
      readonly outDir: string;
      /** Whether steps take over what earlier runs made from the very same. Absent: no. */
      readonly reuse?: true;
      /** The profile that the plan was made with. */
      readonly profile?: AppliedProfile;
      /** Whether named files get a manifest beside them. Absent: yes. */
      readonly manifests?: false;
      /** What the pipeline says of the consent of those whose voices it clones. */
      readonly consent?: string;
      /** Where the pipeline came from, for `resume`; null when it was given as a value. */
      readonly source: { readonly file: string; readonly exportName: string } | null;
      /** Version of Showrunner that planned it. */
      readonly program?: string;
    }
  | {
      readonly type: "lease.taken";
      readonly epoch: number;
      /** For people. */
      readonly holder: string;
      /** Version of Showrunner that writes from here on. */
      readonly program?: string;
    }
  | { readonly type: "run.started" }
  /** The same account has another key, or its service another address; whoever resumed the run said so, and it was checked. */
  | {
      readonly type: "run.account.moved";
      readonly baseUrl: string;
      readonly keyId: string;
      /** A job of the run that is known there; null where the run had none yet. */
      readonly jobId: string | null;
    }
  /** Whoever resumed it allowed another amount. */
  | { readonly type: "run.budget.set"; readonly budgetMicros: number | null; readonly maxUnquotedMicros: number | null }
  | {
      readonly type: "run.paused";
      readonly reason: PauseReason;
      readonly message: CleanText;
      /** Set for `funds`. */
      readonly fundingUrl?: CleanText;
      /** For `funds` what the wallet must hold, for `budget` the budget or cap that would have done. */
      readonly requiredMicros?: number | null;
      readonly balanceMicros?: number | null;
      /** Set for `stopped` where somebody sent it: the message's id in the inbox, and when it was sent. */
      readonly request?: { readonly id: number; readonly at: number };
    }
  | { readonly type: "run.resumed" }
  /** From now on the service cannot be reached, or something else answers. Told once, not with every try. */
  | { readonly type: "service.away"; readonly reason: "unreachable" | "misdirected"; readonly message: CleanText }
  | { readonly type: "service.back" }
  | { readonly type: "run.finished"; readonly status: RunEnd; readonly message: string | null }
  /** A run that was through goes on: a step is to be made again. */
  | { readonly type: "run.reopened" }
  /** Somebody wants steps made again; what is to be made follows as `step.reset`. */
  | { readonly type: "rerun.requested"; readonly requestId: string; readonly steps: readonly string[] }
  /** The code changed and whoever resumed it accepted that. Steps that are to be made again follow as `step.reset`. */
  | {
      readonly type: "run.replanned";
      readonly plan: Plan;
      /** What is to be made again was priced at so much; null where a step has no price. */
      readonly quoteMicros: number | null;
      /** Steps that ask for the very same under another name: they keep what they made. */
      readonly renamed: readonly { readonly from: string; readonly to: string }[];
      /** What expansions that stay planned stand for, by path. */
      readonly expanded: { readonly [step: string]: readonly Reference[] };
      /** The input as somebody corrected it; absent where it is what it was. */
      readonly input?: Json;
      /** Where the code is now; absent where it is where it was. */
      readonly source?: { readonly file: string; readonly exportName: string };
    }
  | { readonly type: "step.started"; readonly step: string }
  | {
      readonly type: "step.finished";
      readonly step: string;
      readonly status: StepEnd;
      readonly reason: string | null;
      /** Set on a step that was skipped because its `when` did not hold, and on those that only used such steps. */
      readonly unwanted?: true;
      /** Set on a step that was skipped because no root of the plan could come of it any more. */
      readonly pruned?: true;
    }
  /** A step that was through is to be made again; what it made stays listed. */
  | {
      readonly type: "step.reset";
      readonly step: string;
      readonly why: string;
      /** Set where only what it uses is made again: should that turn out the same, so is what this step made. */
      readonly unlessSame?: true;
      /** Set on an expansion whose steps stay as planned. */
      readonly keepsPlan?: true;
    }
  /** What it uses was made again and turned out the same: what the step made then counts again. */
  | { readonly type: "step.restored"; readonly step: string; readonly attempt: number }
  /** An earlier run made the very same, and it still exists: nothing is asked of the service. */
  | {
      readonly type: "step.reused";
      readonly step: string;
      readonly from: ReusedFrom;
      readonly outputs: readonly (OutputFacts & { readonly copy: StoredCopy | null })[];
      readonly value: Json;
    }
  | {
      readonly type: "upload.stored";
      readonly step: string;
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly contentType: string;
    }
  | {
      readonly type: "job.quoted";
      readonly step: string;
      readonly attempt: number;
      readonly costMicros: number | null;
      readonly basis: PriceBasis;
    }
  | {
      readonly type: "job.submit.intended";
      readonly step: string;
      readonly attempt: number;
      readonly key: string;
      readonly model: string;
      /** The resolved input; an upload stands as `{source: "upload", sha256}`, never as its URL. */
      readonly input: Json;
      readonly holdMicros: number;
      readonly clockOffsetMs?: number;
    }
  /** About to be sent again under its key; told once for all sends of some minutes. */
  | {
      readonly type: "job.submit.resent";
      readonly step: string;
      readonly attempt: number;
      readonly clockOffsetMs: number;
    }
  /** Sent, and nobody knows whether a job was made. Told once. */
  | {
      readonly type: "job.submit.unknown";
      readonly step: string;
      readonly attempt: number;
      readonly message: CleanText;
      readonly clockOffsetMs?: number;
    }
  | {
      readonly type: "job.submit.refused";
      readonly step: string;
      readonly attempt: number;
      readonly error: JournalError;
    }
  /** Refused before anything was made: hold released, attempt kept, sent again once funded, reachable or renewed. */
  | {
      readonly type: "job.submit.withdrawn";
      readonly step: string;
      readonly attempt: number;
      readonly reason: "funds" | "expired" | "unsent" | "credentials";
    }
  | {
      readonly type: "job.unresolved";
      readonly step: string;
      readonly attempt: number;
      readonly message: CleanText;
      readonly cause: UnresolvedCause;
      /** The job that the service named when the key was sent. */
      readonly jobId?: string;
    }
  /** The service shows the job of an unresolved attempt again. */
  | { readonly type: "job.found"; readonly step: string; readonly attempt: number }
  | { readonly type: "job.adopted"; readonly step: string; readonly attempt: number; readonly jobId: string | null }
  | {
      readonly type: "job.submitted";
      readonly step: string;
      readonly attempt: number;
      readonly jobId: string;
      readonly model: string;
      readonly replayed: boolean;
    }
  | { readonly type: "job.started"; readonly step: string; readonly attempt: number }
  | {
      readonly type: "job.completed";
      readonly step: string;
      readonly attempt: number;
      readonly outputs: readonly OutputFacts[];
    }
  | { readonly type: "job.failed"; readonly step: string; readonly attempt: number; readonly error: JournalError }
  /** Its model charges more than it quotes, so that more is reserved for it: it is at the service already. */
  | {
      readonly type: "job.hold.raised";
      readonly step: string;
      readonly attempt: number;
      readonly holdMicros: number;
    }
  /** What an earlier run was charged above its quotes: holds of this one are raised likewise. */
  | {
      readonly type: "price.learned";
      readonly model: string;
      /** Charged for what was quoted, where the ratio was greatest; null where nothing was quoted. */
      readonly worst: { readonly quotedMicros: number; readonly chargedMicros: number } | null;
      /** The most that was charged for a job without a quote; null where there was none. */
      readonly unquotedMicros: number | null;
      readonly runId: string;
    }
  | { readonly type: "job.settled"; readonly step: string; readonly attempt: number; readonly costMicros: number }
  | {
      readonly type: "output.downloaded";
      readonly step: string;
      readonly attempt: number;
      readonly index: number;
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly contentType: string;
    }
  /** Attempt 0: an output that was taken over from an earlier run. */
  | { readonly type: "output.expired"; readonly step: string; readonly attempt: number; readonly index: number }
  | {
      readonly type: "chat.intended";
      readonly step: string;
      readonly attempt: number;
      readonly model: string;
      readonly input: Json;
      readonly holdMicros: number;
    }
  | {
      readonly type: "chat.answered";
      readonly step: string;
      readonly attempt: number;
      readonly jobId: string | null;
      readonly value: Json;
      readonly costMicros: number;
    }
  | {
      readonly type: "chat.failed";
      readonly step: string;
      readonly attempt: number;
      readonly jobId: string | null;
      readonly error: JournalError;
      readonly costMicros: number;
      /** Set when an answer came that did not meet the schema: what it said, to be sent back for repair. */
      readonly answer?: CleanText;
    }
  /** Sent by a process that is gone. It may have been charged: its hold counts against the budget as if it had. */
  | {
      readonly type: "chat.abandoned";
      readonly step: string;
      readonly attempt: number;
      readonly holdMicros: number;
    }
  | {
      readonly type: "task.done";
      readonly step: string;
      readonly value: Json;
      readonly files: readonly TaskFile[];
    }
  | { readonly type: "task.failed"; readonly step: string; readonly error: JournalError }
  | {
      readonly type: "approval.decided";
      readonly step: string;
      readonly approved: boolean;
      /** Position in what the step shows; null when there is nothing to choose. */
      readonly pick: number | null;
      readonly note: string | null;
    }
  | {
      readonly type: "pick.made";
      readonly step: string;
      readonly chosen: Chosen;
      /** By position in what the step chooses among; null where nothing was scored. */
      readonly scores: readonly (number | null)[] | null;
    }
  | {
      readonly type: "expand.planned";
      readonly step: string;
      readonly steps: readonly PlanStep[];
      readonly returns: readonly Reference[];
      readonly groups: Plan["groups"];
    }
  /** A returned output became a named file; `file` is relative to the run's outDir. */
  | {
      readonly type: "file.placed";
      readonly name: string;
      readonly step: string;
      readonly index: number;
      readonly file: string;
      /** Manifest beside it, relative likewise. */
      readonly manifest?: string;
    };

/** An event as the journal holds it. */
export interface StoredEvent {
  readonly runId: string;
  /** Counts from 1 within the run, without gaps. */
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly event: RunEvent;
}
