import type { CleanText } from "../../kit/clean-text.ts";
import { dollars } from "../../kit/money.ts";
import type { Json } from "../../plan/plan.ts";
import { noteChatCharge } from "../overcharge.ts";
import type { ChatState } from "../state.ts";
import type { JournalError } from "./facts.ts";
import type { Fold } from "./fold-context.ts";
import { type EventTable, ignoredBy, line } from "./spec.ts";

interface OfChat {
  readonly step: string;
  readonly attempt: number;
}

interface Charged extends OfChat {
  readonly jobId: string | null;
  readonly costMicros: number;
  /** True if the service reported no cost, so `costMicros` is the maximum or is computed from `tokens`. */
  readonly isUnconfirmed?: true;
  /** Number of tokens in the answer, if the cost is computed from them. */
  readonly tokens?: number;
}

/** Events of requests to a chat model. */
export type ChatEvent =
  | ({
      readonly type: "chat.intended";
      readonly model: string;
      readonly input: Json;
      readonly holdMicros: number;
    } & OfChat)
  | ({ readonly type: "chat.answered"; readonly value: Json } & Charged)
  | ({
      readonly type: "chat.failed";
      readonly error: JournalError;
      /** The model's answer, if it did not match the schema. */
      readonly answer?: CleanText;
    } & Charged)
  /** The process ended before a response arrived, so the request may have been charged. */
  | ({ readonly type: "chat.abandoned"; readonly holdMicros: number } & OfChat);

export const chatEvents: EventTable<ChatEvent> = {
  "chat.intended": {
    apply: (fold, { step, attempt: n, holdMicros }) => {
      const { chats } = fold.step(step);
      if (n !== chats.length + 1 || chats.at(-1)?.phase === "sent") throw fold.illegal(`(chat ${chats.length})`);
      const unknown = { costMicros: null, error: null, jobId: null, answer: null, endedAt: null };
      chats.push({ n, phase: "sent", holdMicros, ...unknown, sentAt: fold.at });
      fold.state.heldMicros += holdMicros;
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
      const chat = charge(fold, event);
      chat.error = event.error;
      chat.answer = event.answer ?? null;
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
      const chat = movedChat(fold, event);
      chat.endedAt = fold.at;
      fold.state.heldMicros -= chat.holdMicros;
      fold.state.unconfirmedMicros += chat.holdMicros;
    },
    changes: "step",
    ledger: ({ step, attempt, holdMicros }) => ({ type: "settle", step, attempt, costMicros: holdMicros }),
    timeline: (timeline, { step }) => timeline.close(step),
    line: () => line("the request was never answered; it may still be charged up to its maximum"),
    incident: ({ holdMicros }) => ({
      what: "request unanswered",
      why: `The process that sent the request ended. The request may have cost up to ${dollars(holdMicros, Math.ceil)}.`,
    }),
    ...ignoredBy("media", "notice"),
  },
};

function charge(fold: Fold, event: Charged): ChatState {
  const { jobId, costMicros, isUnconfirmed } = event;
  const chat = movedChat(fold, event);
  if (isUnconfirmed === true) chat.isUnconfirmed = true;
  Object.assign(chat, { costMicros, jobId, endedAt: fold.at });
  fold.state.heldMicros -= chat.holdMicros;
  fold.state.spentMicros += costMicros;
  noteChatCharge(fold.state, event.step, chat);
  return chat;
}

function movedChat(fold: Fold, { step, attempt: n }: OfChat): ChatState {
  const { chats } = fold.step(step);
  const chat = chats[n - 1];
  if (chat === undefined || n !== chats.length) throw fold.illegal(`(chat ${n} of ${step})`);
  fold.moveChat(chat);
  return chat;
}
