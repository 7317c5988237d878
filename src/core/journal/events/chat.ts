import type { CleanText } from "../../kit/clean-text.ts";
import { dollars } from "../../kit/money.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import type { Json } from "../../plan/plan.ts";
import type { AttemptState } from "../state.ts";
import type { JournalError, OfAttempt } from "./facts.ts";
import { type EventTable, type Fold, ignoredBy, line, noteCharge } from "./spec.ts";

interface Charged extends OfAttempt {
  readonly jobId: string | null;
  readonly costMicros: number;
  /** True if the service reported no cost. `costMicros` is then the maximum cost, or is computed from `tokens`. */
  readonly isUnconfirmed?: true;
  /** Number of tokens in the prompt and the answer, if the cost is computed from them. */
  readonly tokens?: number;
}

/** Events about requests to chat models. */
export type ChatEvent =
  | ({
      readonly type: "chat.intended";
      readonly model: string;
      readonly input: Json;
      readonly holdMicros: number;
    } & OfAttempt)
  | ({ readonly type: "chat.answered"; readonly value: Json } & Charged)
  | ({
      readonly type: "chat.failed";
      readonly error: JournalError;
      /** The model's answer, if it did not match the schema. */
      readonly answer?: CleanText;
    } & Charged)
  /** The process ended before a response arrived, so the request may have been charged. */
  | ({ readonly type: "chat.abandoned"; readonly holdMicros: number } & OfAttempt);

export const chatEvents: EventTable<ChatEvent> = {
  "chat.intended": {
    apply: (fold, { step, attempt: n, model, input, holdMicros }) => {
      const { attempts } = fold.step(step);
      const last = attempts.at(-1);
      if (n !== attempts.length + 1 || (last !== undefined && jobPhases.open.has(last.phase))) {
        throw fold.illegal(`(attempt ${attempts.length})`);
      }
      const attempt = fold.addAttempt(step, "chat");
      Object.assign(attempt, { model, input, holdMicros, expectedMicros: holdMicros, intendedAt: fold.at });
      fold.moveJob(attempt);
    },
    changes: "step",
    ledger: ({ step, attempt, holdMicros }) => ({ type: "hold", step, attempt, amountMicros: holdMicros }),
    timeline: (timeline, { step, attempt }) => timeline.begin(step, attempt, "chat"),
    line: ({ model }) => line(`asking ${model}`),
    ...ignoredBy("media", "incident", "notice"),
  },
  "chat.answered": {
    apply: (fold, event) => {
      charge(fold, event);
      fold.step(event.step).value = event.value;
    },
    changes: "step",
    ledger: ({ step, attempt, costMicros }) => ({ type: "settle", step, attempt, costMicros }),
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ costMicros, isUnconfirmed, tokens }) => {
      const basis = tokens === undefined ? "at most" : `from ${tokens} tokens`;
      return line(`answered, cost ${dollars(costMicros)}${isUnconfirmed === true ? ` (${basis}, not confirmed)` : ""}`);
    },
    ...ignoredBy("media", "incident", "notice"),
  },
  "chat.failed": {
    apply: (fold, event) => {
      const attempt = charge(fold, event);
      attempt.error = event.error;
      if (event.answer !== undefined) attempt.answer = event.answer;
    },
    changes: "step",
    ledger: ({ step, attempt, costMicros }) => ({ type: "settle", step, attempt, costMicros }),
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ error }) => line(`unusable answer: ${error.message}`),
    incident: ({ error, costMicros }) => {
      return { what: "the model's answer was unusable", why: `${error.code}: ${error.message}`, costMicros };
    },
    ...ignoredBy("media", "notice"),
  },
  "chat.abandoned": {
    apply: (fold, event) => {
      const attempt = ended(fold, event);
      attempt.holdMicros = event.holdMicros;
      fold.state.unconfirmedMicros += event.holdMicros;
    },
    changes: "step",
    ledger: ({ step, attempt, holdMicros }) => ({ type: "settle", step, attempt, costMicros: holdMicros }),
    timeline: (timeline, { step }) => timeline.close(step),
    line: () => line("the request was never answered; it may still cost up to its maximum price"),
    incident: ({ holdMicros }) => ({
      what: "request unanswered",
      why: `The process that sent the request ended before the answer arrived. The request may have cost up to ${dollars(holdMicros, Math.ceil)}.`,
    }),
    ...ignoredBy("media", "notice"),
  },
};

function charge(fold: Fold, event: Charged): AttemptState {
  const { jobId, costMicros, isUnconfirmed } = event;
  const attempt = ended(fold, event);
  if (isUnconfirmed === true) attempt.isUnconfirmed = true;
  if (costMicros > 0) noteCharge(fold.state, attempt, costMicros);
  Object.assign(attempt, { costMicros, jobId });
  fold.state.spentMicros += costMicros;
  return attempt;
}

function ended(fold: Fold, event: OfAttempt): AttemptState {
  const attempt = fold.attempt(event);
  fold.moveJob(attempt);
  attempt.completedAt = fold.at;
  return attempt;
}
