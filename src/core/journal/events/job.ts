import type { CleanText } from "../../kit/clean-text.ts";
import { dollars, formatUsd } from "../../kit/money.ts";
import { noteJobCharge } from "../overcharge.ts";
import { type OutputState, UNREAD_MS } from "../state.ts";
import type { JournalError, OfAttempt, OutputFacts, StoredCopy } from "./facts.ts";
import type { Fold } from "./fold-context.ts";
import { counted, detail, type EventTable, ignoredBy, line } from "./spec.ts";

/** Attempt 0: an output that was reused from an earlier run. */
interface OfOutput extends OfAttempt {
  readonly index: number;
}

/** A job at the service: its statuses, its cost and its outputs. */
export type JobEvent =
  | ({ readonly type: "job.started" } & OfAttempt)
  | ({
      readonly type: "job.completed";
      readonly outputs: readonly OutputFacts[];
      /** Their bytes came with the answer, and are nowhere but here; null for one that failed. Absent: the service has them. */
      readonly copies?: readonly (StoredCopy | null)[];
      /** Hashes of what came with it and is no such media: it was paid for, and is kept. */
      readonly unfit?: readonly string[];
    } & OfAttempt)
  /**
   * An answer that lacks something, or says less than an earlier one, which stands; reported once for each message, of an
   * operation each time.
   */
  | ({
      readonly type: "job.doubted";
      readonly message: CleanText;
      /** Of an operation: so long it has been said while it was asked for, milliseconds. */
      readonly saidForMs?: number;
      /** Of an operation: what came was no word of its work. */
      readonly isUnread?: true;
      /** It is under way after all: what was doubted before counts no more. */
      readonly isOver?: true;
    } & OfAttempt)
  | ({
      readonly type: "job.failed";
      readonly error: JournalError;
      /** Hashes of what came of an answer that is not all here: it was paid for, and is kept. */
      readonly unfit?: readonly string[];
    } & OfAttempt)
  /** Its model charges more than it quotes, so that more is reserved for it: it is at the service already. */
  | ({ readonly type: "job.hold.raised"; readonly holdMicros: number } & OfAttempt)
  | ({
      readonly type: "job.settled";
      readonly costMicros: number;
      /** What was held, since the provider does not say what it charged. */
      readonly isUnconfirmed?: true;
    } & OfAttempt)
  /** The service says of its cost what cannot be; what is reserved stays so. Reported once for each such statement. */
  | ({ readonly type: "job.bill.impossible"; readonly said: CleanText } & OfAttempt)
  | ({ readonly type: "output.downloaded" } & OfOutput & StoredCopy)
  /** Its bytes did not come, or not whole: fetched again for a while, then by the next resume; reported once for each message. */
  | ({ readonly type: "output.uncopied"; readonly message: CleanText } & OfOutput)
  /** No later job takes its asset any more; its bytes may still be had. */
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
      // A clock that was ahead, and is not any more, would have it last for as long as that.
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
        return line(`still asked again, or settled by "adopt": ${message}`);
      return (saidForMs > 0 ? detail : line)(`reading its job again: ${message}`);
    },
    incident: ({ message, isOver, saidForMs = 0 }) =>
      isOver === true || saidForMs > 0 ? null : { what: "an answer that cannot be all", why: message },
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
    // What cannot pass fails the step, which says why.
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
    line: ({ holdMicros }) => line(`will cost more than quoted: $${formatUsd(holdMicros)} reserved`),
    incident: ({ holdMicros }) => ({
      what: "hold raised to the real cost",
      why: `Its model charges above its quotes: $${formatUsd(holdMicros)} are reserved.`,
    }),
    ...ignoredBy("media", "timeline", "notice"),
  },
  "job.settled": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      fold.moveJob(attempt);
      noteJobCharge(fold.state, attempt, event.costMicros);
      fold.state.spentMicros += event.costMicros - (attempt.costMicros ?? 0);
      attempt.costMicros = event.costMicros;
      if (event.isUnconfirmed === true) attempt.isUnconfirmed = true;
      delete attempt.impossibleBill;
    },
    changes: "step",
    ledger: ({ step, attempt, costMicros }) => ({ type: "settle", step, attempt, costMicros }),
    line: ({ costMicros, isUnconfirmed }) =>
      line(`cost ${dollars(costMicros)}${isUnconfirmed === true ? " at most, not confirmed" : ""}`),
    incident: ({ step, attempt, costMicros }, { steps }) => {
      const quoted = steps[step]?.attempts[attempt - 1]?.quote?.costMicros ?? null;
      if (quoted === null || costMicros <= quoted) return null;
      const why = `Quoted at $${formatUsd(quoted)}; holds of later jobs of its model were raised.`;
      return { what: "charged above its quote", why, costMicros };
    },
    ...ignoredBy("media", "timeline", "notice"),
  },
  "job.bill.impossible": {
    apply: (fold, event) => {
      fold.attempt(event).impossibleBill = event.said;
    },
    changes: "step",
    line: ({ said }) => line(`the service says that it cost ${said}, which cannot be; what is reserved stays reserved`),
    incident: ({ said }) => ({
      what: "an impossible bill",
      why: `The service says that it cost ${said}. What was reserved for it stays reserved until it says an amount that can be.`,
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
    line: ({ index, message }) => line(`output ${index} could not be copied: ${message}`),
    incident: ({ index, message }) => ({ what: `output ${index} could not be copied`, why: message }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "output.lapsed": {
    apply: (fold, event) => fold.moveOutput(outputOf(fold, event)),
    changes: "step",
    line: ({ index }) => line(`output ${index} is past its time at the service: its file stands in for it`),
    ...ignoredBy("ledger", "media", "timeline", "incident", "notice"),
  },
  "output.expired": {
    apply: (fold, event) => fold.moveOutput(outputOf(fold, event)),
    changes: "step",
    timeline: (timeline, { step, attempt }) => timeline.copied(step, attempt),
    line: ({ index }) => line(`output ${index} expired at the service`),
    incident: ({ index }) => ({ what: `output ${index} expired at the service`, why: "" }),
    ...ignoredBy("ledger", "media", "notice"),
  },
};

/** How an output's chart calls what the service says of it. */
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
