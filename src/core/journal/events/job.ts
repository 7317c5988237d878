import type { CleanText } from "../../kit/clean-text.ts";
import { dollars, formatUsd } from "../../kit/money.ts";
import { type OutputState, UNREAD_MS } from "../state.ts";
import type { JournalError, OfAttempt, OutputFacts, StoredCopy } from "./facts.ts";
import { counted, detail, type EventTable, type Fold, ignoredBy, line, noteCharge } from "./spec.ts";

/** Identifies an output. `attempt` is 0 if the output was reused from an earlier run. */
interface OfOutput extends OfAttempt {
  readonly index: number;
}

/** Events about a job's status, cost and outputs. */
export type JobEvent =
  | ({ readonly type: "job.started" } & OfAttempt)
  | ({
      readonly type: "job.completed";
      readonly outputs: readonly OutputFacts[];
      /** Stored copies of outputs that exist only in the response; null for each failed output. */
      readonly copies?: readonly (StoredCopy | null)[];
      /** Hashes of invalid media in the response. The media are kept, because they were paid for. */
      readonly unfit?: readonly string[];
    } & OfAttempt)
  /** A response about the job is incomplete, or contains less than an earlier response. */
  | ({
      readonly type: "job.doubted";
      readonly message: CleanText;
      /** How long the provider has been returning inconclusive responses, in milliseconds. */
      readonly saidForMs?: number;
      /** True if a provider's response says nothing about the job. */
      readonly isUnread?: true;
      /** True if the job is no longer in doubt, because a later response was conclusive. */
      readonly isOver?: true;
    } & OfAttempt)
  | ({
      readonly type: "job.failed";
      readonly error: JournalError;
      /** Hashes of the media in an incomplete response. The media are kept, because they were paid for. */
      readonly unfit?: readonly string[];
    } & OfAttempt)
  /** The amount reserved for the job was raised, because the model charges more than it quotes. */
  | ({ readonly type: "job.hold.raised"; readonly holdMicros: number } & OfAttempt)
  | ({
      readonly type: "job.settled";
      readonly costMicros: number;
      /** True if the provider reports no cost. The cost is then the amount that was reserved. */
      readonly isUnconfirmed?: true;
    } & OfAttempt)
  /** The service reported an implausible cost, so the amount reserved for the job stays reserved. */
  | ({ readonly type: "job.bill.impossible"; readonly said: CleanText } & OfAttempt)
  | ({ readonly type: "output.downloaded" } & OfOutput & StoredCopy)
  /** A download failed or was incomplete. It may be retried. */
  | ({ readonly type: "output.uncopied"; readonly message: CleanText } & OfOutput)
  /** The output's asset has expired, so later jobs can no longer use it. */
  | ({ readonly type: "output.lapsed" } & OfOutput)
  | ({ readonly type: "output.expired" } & OfOutput);

export const jobEvents: EventTable<JobEvent> = {
  "job.started": {
    apply: (fold, event) => fold.moveJob(fold.attempt(event)),
    changes: "step",
    timeline: (timeline, { step, attempt }) => timeline.begin(step, attempt, "render"),
    line: () => line("rendering"),
    ...ignoredBy("ledger", "media", "incident", "notice"),
  },
  "job.completed": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      attempt.completedAt = fold.at;
      attempt.outputs = event.outputs.map((facts, index) => {
        const copy = event.copies?.[index] ?? null;
        const output: OutputState = { ...facts, phase: "pending", copy };
        fold.moveOutput(output, copy === null ? phaseEvents[facts.status] : "output.given");
        return output;
      });
    },
    changes: "step",
    media: ({ copies = [], unfit = [] }) => [...copies.flatMap((copy) => copy?.sha256 ?? []), ...unfit],
    timeline: (timeline, { step, attempt, outputs }) => timeline.jobEnded(step, attempt, outputs),
    line: ({ outputs }) => detail(`made ${counted(outputs.length, "output")}`),
    ...ignoredBy("ledger", "incident", "notice"),
  },
  "job.doubted": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      if (event.isOver === true) return void delete attempt.doubt;
      // If the clock was ahead when the doubt began, the stored `since` lies in the future.
      const since = Math.min(attempt.doubt?.since ?? fold.at, fold.at);
      const { message, saidForMs, isUnread } = event;
      attempt.doubt = {
        ...attempt.doubt,
        since,
        message,
        ...(saidForMs !== undefined && { saidForMs, saidAt: fold.at }),
        ...(isUnread && { isUnread }),
      };
    },
    changes: "step",
    line: ({ message, isOver, isUnread, saidForMs = 0 }) => {
      if (isOver === true) return line(message);
      if (isUnread === true && saidForMs >= UNREAD_MS)
        return line(`the job is still being polled, but a person can resolve it with "adopt": ${message}`);
      return (saidForMs > 0 ? detail : line)(`reading the job again: ${message}`);
    },
    incident: ({ message, isOver, saidForMs = 0 }) =>
      isOver === true || saidForMs > 0 ? null : { what: "incomplete answer", why: message },
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "job.failed": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      attempt.completedAt = fold.at;
      attempt.error = event.error;
    },
    changes: "step",
    media: ({ unfit = [] }) => unfit,
    timeline: (timeline, { step, attempt }) => timeline.jobEnded(step, attempt, null),
    // A permanent failure also ends the step, and the step's own line gives the reason.
    line: ({ error }) => (error.retryable ? line : detail)(`job failed: ${error.message}`),
    incident: ({ attempt, error }) => {
      return { what: `attempt ${attempt} failed`, why: `${error.code}: ${error.message}`, attempt };
    },
    ...ignoredBy("ledger", "notice"),
  },
  "job.hold.raised": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      fold.state.heldMicros += event.holdMicros - attempt.holdMicros;
      attempt.holdMicros = event.holdMicros;
    },
    changes: "step",
    ledger: ({ step, attempt, holdMicros }) => ({ type: "raise", step, attempt, amountMicros: holdMicros }),
    line: ({ holdMicros }) => line(`expected to cost more than quoted; $${formatUsd(holdMicros)} is now reserved`),
    incident: ({ holdMicros }) => ({
      what: "hold raised",
      why: `The model charges more than it quotes; $${formatUsd(holdMicros)} is now reserved.`,
    }),
    ...ignoredBy("media", "timeline", "notice"),
  },
  "job.settled": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      noteCharge(fold.state, attempt, event.costMicros);
      fold.state.spentMicros += event.costMicros - (attempt.costMicros ?? 0);
      attempt.costMicros = event.costMicros;
      if (event.isUnconfirmed === true) attempt.isUnconfirmed = true;
      delete attempt.impossibleBill;
    },
    changes: "step",
    ledger: ({ step, attempt, costMicros }) => ({ type: "settle", step, attempt, costMicros }),
    line: ({ costMicros, isUnconfirmed }) =>
      line(`cost ${dollars(costMicros)}${isUnconfirmed === true ? " (at most, not confirmed)" : ""}`),
    incident: ({ step, attempt, costMicros }, { steps }) => {
      const quoted = steps[step]?.attempts[attempt - 1]?.quote?.costMicros ?? null;
      if (quoted === null || costMicros <= quoted) return null;
      const why = `The quote was $${formatUsd(quoted)}. Showrunner now reserves more for later jobs of this model.`;
      return { what: "charged more than quoted", why, costMicros };
    },
    ...ignoredBy("media", "timeline", "notice"),
  },
  "job.bill.impossible": {
    apply: (fold, event) => {
      fold.attempt(event).impossibleBill = event.said;
    },
    changes: "step",
    line: ({ said }) => line(`the service reports an impossible cost of ${said}; the money stays reserved`),
    incident: ({ said }) => ({
      what: "impossible cost",
      why: `The service reports a cost of ${said}. The reservation stays until the service reports a plausible cost.`,
    }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "output.downloaded": {
    apply: (fold, event) => {
      const { sha256, sizeBytes, contentType } = event;
      const output = outputOf(fold, event);
      fold.moveOutput(output);
      output.copy = { sha256, sizeBytes, contentType };
      delete output.uncopied;
    },
    changes: "step",
    media: ({ sha256 }) => [sha256],
    timeline: (timeline, { step, attempt }) => timeline.copied(step, attempt),
    line: ({ contentType, sizeBytes }) => line(`downloaded ${contentType}, ${sizeBytes} bytes`),
    ...ignoredBy("ledger", "incident", "notice"),
  },
  "output.uncopied": {
    apply: (fold, event) => {
      outputOf(fold, event).uncopied = event.message;
    },
    changes: "step",
    line: ({ index, message }) =>
      line(
        `output ${index} could not be copied (the copy is retried immediately, or when the run is resumed): ${message}`,
      ),
    incident: ({ index, message }) => ({ what: `output ${index} could not be copied`, why: message }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "output.lapsed": {
    apply: (fold, event) => fold.moveOutput(outputOf(fold, event)),
    changes: "step",
    line: ({ index }) => line(`output ${index} expired on the service; the downloaded copy is used instead`),
    ...ignoredBy("ledger", "media", "timeline", "incident", "notice"),
  },
  "output.expired": {
    apply: (fold, event) => fold.moveOutput(outputOf(fold, event)),
    changes: "step",
    timeline: (timeline, { step, attempt }) => timeline.copied(step, attempt),
    line: ({ index }) => line(`output ${index} expired on the service`),
    incident: ({ index }) => ({ what: `output ${index} expired on the service`, why: "" }),
    ...ignoredBy("ledger", "media", "notice"),
  },
};

const phaseEvents = {
  COMPLETED: "output.available",
  FAILED: "output.failed",
  EXPIRED: "output.expired",
} as const satisfies Record<OutputFacts["status"], string>;

function outputOf(fold: Fold, event: OfOutput): OutputState {
  const { step, attempt, index } = event;
  const output = (attempt === 0 ? fold.step(step).outputs : fold.attempt(event).outputs)?.[index];
  if (output === undefined) throw fold.illegal(`(no output ${index} of ${step})`);
  return output;
}
