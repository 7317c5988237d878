import { notFound } from "../http/refusal.ts";
import { answerTo } from "./engine/answer.ts";
import type { ChatRequest } from "./request.ts";

/** A language model of this service, with its prices in micro-dollars per token. */
export interface ChatModel {
  readonly id: string;
  readonly promptMicros: number;
  readonly completionMicros: number;
}

/** All chat models. They are not in the catalog, whose models produce media. */
export const CHAT_MODELS: readonly ChatModel[] = [{ id: "chat-1", promptMicros: 1, completionMicros: 4 }];

/** @throws Refusal 404 */
export function chatModel(id: string): ChatModel {
  const model = CHAT_MODELS.find((known) => known.id === id);
  if (model) return model;
  const fixed = "There is no such chat model.";
  throw notFound(`${fixed} On offer: ${CHAT_MODELS.map((known) => known.id).join(", ")}.`, fixed);
}

/** A word of up to five letters or digits, or one other character, with the white space before it. */
const TOKEN = /\s+$|\s*[\p{L}\p{M}\p{N}_]{1,5}|\s*[^\s\p{L}\p{M}\p{N}_]/gu;

/** Splits a text into tokens for counting and streaming; joined, they give the text. About four characters each. */
export function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

/** Token overhead of each message and each answer. */
const PER_MESSAGE = 3;

export interface ComposedChoice {
  readonly tokens: readonly string[];
  readonly finishReason: "stop" | "length";
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A complete answer, computed before any of it is sent. */
export interface Composed {
  readonly choices: readonly ComposedChoice[];
  readonly usage: Usage;
  readonly priceMicros: number;
}

function beforeStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}

function choice(request: ChatRequest, index: number): ComposedChoice {
  const tokens = tokenize(beforeStop(answerTo(request, index), request.stops));
  if (tokens.length <= request.maxTokens) return { tokens, finishReason: "stop" };
  return { tokens: tokens.slice(0, request.maxTokens), finishReason: "length" };
}

/** Generates and prices all choices of a request. @throws Refusal 400 */
export function compose(request: ChatRequest, model: ChatModel): Composed {
  const choices = Array.from({ length: request.choices }, (_, index) => choice(request, index));
  const prompt_tokens = request.messages.reduce(
    (sum, { text }) => sum + tokenize(text).length + PER_MESSAGE,
    PER_MESSAGE,
  );
  const completion_tokens = choices.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    choices,
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    priceMicros: prompt_tokens * model.promptMicros + completion_tokens * model.completionMicros,
  };
}
