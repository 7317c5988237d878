import { notFound } from "../http/refusal.ts";

/** A language model of this service, with its prices in micro-dollars a token. */
export interface ChatModel {
  readonly id: string;
  readonly promptMicros: number;
  readonly completionMicros: number;
}

/** All of them. They are not in the catalog: its models make media. */
export const CHAT_MODELS: readonly ChatModel[] = [{ id: "chat-1", promptMicros: 1, completionMicros: 4 }];

/** @throws Refusal 404 */
export function chatModel(id: string): ChatModel {
  const model = CHAT_MODELS.find((known) => known.id === id);
  if (model) return model;
  const fixed = "There is no such chat model.";
  throw notFound(`${fixed} On offer: ${CHAT_MODELS.map((known) => known.id).join(", ")}.`, fixed);
}
