import type { ErrorBody } from "../http/refusal.ts";
import { type AnswerToken, type Composed, textOf } from "./chat-job.ts";

export interface AnswerHead {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
}

/** Writes the frames of a stream. Call the methods in the order in which they are declared. */
export interface FrameWriter {
  first(): readonly string[];
  token(token: AnswerToken): readonly string[];
  last(): readonly string[];
  error(error: ErrorBody): string;
}

export interface AnswerForm {
  whole(): object;
  frames(): FrameWriter;
}

function usageOf({ promptTokens, tokens, reasoningTokens }: Composed) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: tokens.length,
    total_tokens: promptTokens + tokens.length,
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

export const callId = ({ id }: AnswerHead) => id.replace("job_", "call_");

export function completionForm(head: AnswerHead, composed: Composed, includeUsage: boolean): AnswerForm {
  const { tool, finishReason, reasoningTokens } = composed;
  const call = (text: string) => ({
    id: callId(head),
    type: "function",
    function: { name: tool, arguments: text },
  });

  function whole() {
    const message = {
      role: "assistant",
      content: tool === null ? textOf(composed, "text") : null,
      refusal: null,
      ...(reasoningTokens > 0 && { reasoning_content: textOf(composed, "reasoning") }),
      ...(tool !== null && { tool_calls: [call(textOf(composed, "call"))] }),
    };
    const choice = { index: 0, message, logprobs: null, finish_reason: finishReason };
    return { ...head, object: "chat.completion", choices: [choice], usage: usageOf(composed) };
  }

  function frames(): FrameWriter {
    const base = { ...head, object: "chat.completion.chunk" };
    const usage = includeUsage ? { usage: null } : {};
    const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
    const chunk = (delta: object, finish_reason: string | null = null) =>
      frame({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...usage });
    let isCalling = false;

    function deltaOf({ of, text }: AnswerToken): object {
      if (of === "text") return { content: text };
      if (of === "reasoning") return { reasoning_content: text };
      const begun = isCalling ? { function: { arguments: text } } : call(text);
      isCalling = true;
      return { tool_calls: [{ index: 0, ...begun }] };
    }

    return {
      first: () => [chunk({ role: "assistant", content: tool === null ? "" : null })],
      token: (token) => [chunk(deltaOf(token))],
      last: () => [
        chunk({}, finishReason),
        ...(includeUsage ? [frame({ ...base, choices: [], usage: usageOf(composed) })] : []),
        "data: [DONE]\n\n",
      ],
      error: (error) => frame({ error }),
    };
  }

  return { whole, frames };
}
