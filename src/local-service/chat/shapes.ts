import type { ErrorBody } from "../http/refusal.ts";
import type { Composed, Usage } from "./compose.ts";

/** Fields shared by the answer and all its chunks. */
export interface CompletionHead {
  /** The job's id. */
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
}

/** The complete answer. */
export function completion(head: CompletionHead, { choices, usage }: Composed) {
  return {
    ...head,
    object: "chat.completion",
    choices: choices.map(({ tokens, finishReason }, index) => ({
      index,
      message: { role: "assistant", content: tokens.join(""), refusal: null },
      logprobs: null,
      finish_reason: finishReason,
    })),
    usage,
  };
}

interface Delta {
  readonly role?: "assistant";
  readonly content?: string;
}

/** Builds the chunks of a stream; `includeUsage` adds a null usage to each, and the actual usage to the last one. */
export function chunkWriter(head: CompletionHead, includeUsage: boolean) {
  const base = { ...head, object: "chat.completion.chunk" };
  const usage = includeUsage ? { usage: null } : {};
  const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
  const choice = (index: number, delta: Delta, finish_reason: string | null) =>
    frame({ ...base, choices: [{ index, delta, logprobs: null, finish_reason }], ...usage });
  return {
    first: (index: number) => choice(index, { role: "assistant", content: "" }, null),
    token: (index: number, content: string) => choice(index, { content }, null),
    last: (index: number, finishReason: string) => choice(index, {}, finishReason),
    usage: (total: Usage) => (includeUsage ? frame({ ...base, choices: [], usage: total }) : ""),
    error: (error: ErrorBody) => frame({ error }),
  };
}

export const STREAM_END = "data: [DONE]\n\n";
