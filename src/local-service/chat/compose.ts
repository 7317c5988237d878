import type { ChatModel } from "./chat-model.ts";
import { answerTo } from "./engine/answer.ts";
import type { ChatRequest } from "./request.ts";
import { tokenize } from "./tokens.ts";

/** Tokens that each message and each answer costs beside its text. */
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

/** An answer made in full, before any of it is sent. */
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

/** Makes all choices of a request and prices them. @throws Refusal 400 */
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
