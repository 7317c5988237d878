import type { CleanText } from "../../kit/clean-text.ts";
import { dollars } from "../../kit/money.ts";
import type { Json } from "../../plan/plan.ts";
import type { AttemptState, StepState } from "../state.ts";
import type { JournalError, OfAttempt, PriceBasis, UnresolvedCause } from "./facts.ts";
import { detail, type EventTable, type Fold, ignoredBy, line } from "./spec.ts";

/** Events about a job, from its quote to the service's acknowledgment. */
export type SubmitEvent = OfAttempt &
  (
    | {
        readonly type: "job.quoted";
        readonly costMicros: number | null;
        readonly basis: PriceBasis;
        /** Paths of the steps on whose media the quote depends. The model may still refuse these media. */
        readonly conditionalOn?: readonly string[];
      }
    | {
        readonly type: "job.submit.intended";
        readonly key: string;
        readonly model: string;
        /** The resolved input. An upload appears as `{source: "upload", sha256}`, never as its URL. */
        readonly input: Json;
        readonly holdMicros: number;
        readonly clockOffsetMs?: number;
        /** The provider that receives the job. Absent if the service receives it. */
        readonly provider?: string;
      }
    /** The submit request is sent again with the same idempotency key. */
    | { readonly type: "job.submit.resent"; readonly clockOffsetMs: number }
    /** The submit request was sent, but it is unknown whether a job was created. */
    | { readonly type: "job.submit.unknown"; readonly message: CleanText; readonly clockOffsetMs?: number }
    | { readonly type: "job.submit.refused"; readonly error: JournalError }
    /** The submission created no job, and will be retried. */
    | { readonly type: "job.submit.withdrawn"; readonly reason: keyof typeof withdrawals }
    | {
        readonly type: "job.unresolved";
        readonly message: CleanText;
        readonly cause: UnresolvedCause;
        /** The job that the service returned for the idempotency key. */
        readonly jobId?: string;
        readonly clockOffsetMs?: number;
        /** Hashes of the media in an unusable result. The media are kept, because they were paid for. */
        readonly unfit?: readonly string[];
      }
    /** The service now lists the job of an unresolved attempt. */
    | { readonly type: "job.found" }
    | {
        readonly type: "job.adopted";
        readonly jobId: string | null;
        /** True if a person accepted the job without its missing outputs. */
        readonly isAccepted?: true;
        /** True if a person supplied the provider's output as a file. */
        readonly isGiven?: true;
      }
    | {
        readonly type: "job.submitted";
        readonly jobId: string;
        readonly model: string;
        readonly replayed: boolean;
        readonly clockOffsetMs?: number;
        /** The provider that acknowledged the job; absent if the service did. */
        readonly provider?: string;
        /** The handle for polling the provider. */
        readonly operation?: Json;
      }
  );

const withdrawals = {
  funds: {
    line: "the wallet cannot fund this job; nothing was charged",
    why: "The wallet could not pay for the job; nothing was charged. The job was sent again once the wallet could pay.",
  },
  expired: {
    line: "an upload had expired; sending it again",
    why: "A file that the job uses had expired on the service and was uploaded again, free of charge.",
  },
  unsent: {
    line: "the service could not be reached; nothing was sent",
    why: "The service could not be reached; nothing was sent.",
  },
  code: {
    line: "the pipeline's code or a file is missing; nothing was sent",
    why: "The pipeline's code, or a file that the job uses, was missing, so nothing was sent.",
  },
  changed: {
    line: "the service lists no job for the step's old request; sending the changed request instead",
    why: "The step had changed, and the service listed no job for its old request. The changed request was sent instead.",
  },
  credentials: {
    line: "the service rejected the key; no job was created",
    why: "The service rejected the key; no job was created.",
  },
} as const;

export const submitEvents: EventTable<SubmitEvent> = {
  "job.quoted": {
    apply: (fold, event) => {
      const isNew = event.attempt === fold.step(event.step).attempts.length + 1;
      const attempt = isNew ? fold.addAttempt(event.step, "job") : fold.attempt(event);
      fold.moveJob(attempt);
      const { costMicros, basis, conditionalOn } = event;
      attempt.quotedAt = fold.at;
      attempt.quote = { costMicros, basis, ...(conditionalOn !== undefined && { conditionalOn }) };
    },
    changes: "step",
    line: ({ costMicros, basis }) =>
      detail(`${costMicros === null ? "no price" : `priced at ${dollars(costMicros)}`} (${basis})`),
    ...ignoredBy("ledger", "media", "timeline", "incident", "notice"),
  },
  "job.submit.intended": {
    apply: (fold, event) => {
      const { key, model, input, holdMicros } = event;
      const attempt = fold.attempt(event);
      attempt.holdMicros = holdMicros;
      fold.moveJob(attempt);
      attempt.expectedMicros = attempt.quote?.costMicros ?? holdMicros;
      Object.assign(attempt, { key, model, input, intendedAt: fold.at });
      if (event.provider !== undefined) attempt.provider = event.provider;
      noteSend(fold, attempt, event.clockOffsetMs);
    },
    changes: "step",
    ledger: ({ step, attempt, holdMicros, provider }) => ({
      type: "hold",
      step,
      attempt,
      amountMicros: holdMicros,
      ...(provider !== undefined && { isElsewhere: true }),
    }),
    timeline: (timeline, { step, attempt }) => timeline.begin(step, attempt, "queue"),
    line: ({ model, attempt, holdMicros }) => detail(`${model}, attempt ${attempt}, ${dollars(holdMicros)} held`),
    ...ignoredBy("media", "incident", "notice"),
  },
  "job.submit.resent": {
    apply: (fold, event) => noteSend(fold, fold.attempt(event), event.clockOffsetMs),
    changes: "step",
    ...ignoredBy("ledger", "media", "timeline", "line", "incident", "notice"),
  },
  "job.submit.unknown": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      noteSend(fold, attempt, event.clockOffsetMs);
    },
    changes: "step",
    line: ({ message }) =>
      line(`sending the submit request again with the same key, because it got no answer: ${message}`),
    incident: ({ message }) => ({
      what: "no answer to the submit request",
      why: `${message} The request is sent again with the same body and key, so the job cannot be charged twice.`,
    }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "job.submit.refused": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      attempt.error = event.error;
      const step = fold.step(event.step);
      if (step.status === "unresolved") resolve(fold, step, attempt);
    },
    changes: "step",
    ledger: ({ step, attempt }) => ({ type: "release", step, attempt }),
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ error }) => line(`refused: ${error.message}`),
    incident: ({ attempt, error }) => ({ what: `attempt ${attempt} refused`, why: error.message }),
    ...ignoredBy("media", "notice"),
  },
  "job.submit.withdrawn": {
    apply: (fold, event) => fold.moveJob(fold.attempt(event)),
    changes: "step",
    ledger: ({ step, attempt }) => ({ type: "release", step, attempt }),
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ reason }) => line(withdrawals[reason].line),
    incident: ({ reason }) => ({ what: "submission withdrawn", why: withdrawals[reason].why }),
    ...ignoredBy("media", "notice"),
  },
  "job.unresolved": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      attempt.unresolved = event.cause;
      if (AFTER_SEND.has(event.cause)) noteSend(fold, attempt, event.clockOffsetMs);
      if (event.jobId !== undefined) attempt.namedJobId = event.jobId;
      // The job was polled until it turned out to belong to another step.
      if (event.cause === "another's job") attempt.jobId = null;
      const step = fold.step(event.step);
      fold.moveStep(step);
      step.reason = event.message;
    },
    changes: "step",
    line: ({ message }) => line(`needs a decision: ${message}`),
    media: ({ unfit = [] }) => unfit,
    incident: ({ message }) => ({ what: "needs a decision", why: message }),
    ...ignoredBy("ledger", "timeline", "notice"),
  },
  "job.found": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      resolve(fold, fold.step(event.step), attempt);
    },
    changes: "step",
    line: () => line("the service lists the job again"),
    incident: () => ({ what: "found again", why: "The service lists the job again." }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "job.adopted": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      const type = event.jobId === null ? "job.lost" : "job.adopted";
      fold.moveJob(attempt, type);
      resolve(fold, fold.step(event.step), attempt, type);
      attempt.jobId = event.jobId;
      attempt.isAdopted = true;
      if (event.isAccepted && attempt.doubt !== undefined) attempt.doubt = { ...attempt.doubt, isAccepted: true };
      else delete attempt.doubt;
    },
    changes: "step",
    ledger: ({ step, attempt, jobId, isGiven }) => {
      if (isGiven === true) return null;
      return { type: jobId === null ? "release" : "charged", step, attempt };
    },
    timeline: (timeline, { step, jobId }) => {
      if (jobId === null) timeline.close(step);
    },
    line: (event) => detail(`a person decided: ${decisionText(event)}`),
    incident: ({ jobId, isAccepted = false, isGiven = false }) => ({
      what: "decided by a person",
      why: isGiven
        ? "A person supplied the file that the provider generated."
        : isAccepted
          ? `The existing outputs of ${jobId} are used as the step's result.`
          : `The submit request created ${jobId === null ? "no job" : jobId}.`,
    }),
    ...ignoredBy("media", "notice"),
  },
  "job.submitted": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      const step = fold.step(event.step);
      if (step.status === "unresolved") resolve(fold, step, attempt);
      Object.assign(attempt, { jobId: event.jobId, model: event.model, submittedAt: fold.at });
      if (event.operation !== undefined) attempt.operation = event.operation;
      noteSend(fold, attempt, event.clockOffsetMs);
    },
    changes: "step",
    ledger: ({ step, attempt, provider }) => (provider === undefined ? { type: "charged", step, attempt } : null),
    timeline: (timeline, { step, attempt }) => timeline.acknowledge(step, attempt),
    line: ({ jobId, model, replayed, provider }) =>
      line(`${provider ?? `job ${jobId}`} on ${model}${replayed ? ", replayed" : ""}`),
    ...ignoredBy("media", "incident", "notice"),
  },
};

const AFTER_SEND: ReadonlySet<UnresolvedCause> = new Set(["refused", "older job", "another's job"]);

type Adopted = { readonly jobId: string | null; readonly isAccepted?: true; readonly isGiven?: true };

function decisionText({ jobId, isAccepted, isGiven }: Adopted): string {
  if (isGiven) return "the supplied file is used as the provider's result";
  if (jobId === null) return "no job was created";
  return isAccepted ? `the existing outputs of ${jobId} are used as the step's result` : `the job is ${jobId}`;
}

function resolve(fold: Fold, step: StepState, attempt: AttemptState, type?: string): void {
  fold.moveStep(step, type);
  step.reason = null;
  attempt.unresolved = null;
}

function noteSend({ at }: Fold, attempt: AttemptState, clockOffsetMs = 0): void {
  attempt.lastSentAt = at;
  const instant = at + clockOffsetMs;
  const { from, to } = attempt.sentByService ?? { from: instant, to: instant };
  attempt.sentByService = { from: Math.min(from, instant), to: Math.max(to, instant) };
}
