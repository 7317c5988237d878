import { z } from "zod";

export const chatEntry = z.looseObject({
  id: z.string().min(1).max(200),
  modality: z.literal("text"),
  name: z.string().nullable().default(null),
  description: z.string().nullable().default(null),
  price_description: z.string().default(""),
  logo_url: z.string().nullable().default(null),
  context_length: z.int().min(1).default(131_072),
  max_output_tokens: z.int().min(1).default(16_384),
  default_max_tokens: z.int().min(1).default(4_096),
  pricing: z
    .looseObject({ usd_per_1m_input_tokens: z.number().min(0), usd_per_1m_output_tokens: z.number().min(0) })
    .default({ usd_per_1m_input_tokens: 1, usd_per_1m_output_tokens: 4 }),
  input_modalities: z.array(z.string()).default(["text"]),
  max_images_per_request: z.int().min(0).max(96).nullable().default(null),
});

export type ChatModel = z.output<typeof chatEntry>;

export const OWN_CHAT_MODEL: ChatModel = chatEntry.parse({
  id: "chat-1",
  modality: "text",
  name: "Chat 1",
  description: "Answers with text, JSON that fits a schema, or tool calls. Every answer is simulated.",
  price_description: "$1 per million input tokens, $4 per million output tokens",
  input_modalities: ["text", "image"],
});

const MOST_IMAGES = 96;

export function mostImages({ input_modalities, max_images_per_request }: ChatModel): number {
  return input_modalities.includes("image") ? (max_images_per_request ?? MOST_IMAGES) : 0;
}

/**
 * Returns the price in micro-dollars. Dollars per million tokens equal micro-dollars per token, so no conversion is
 * needed.
 */
export function priceMicros({ pricing }: ChatModel, promptTokens: number, completionTokens: number): number {
  const { usd_per_1m_input_tokens: prompt, usd_per_1m_output_tokens: completion } = pricing;
  return Math.ceil(promptTokens * prompt + completionTokens * completion - 1e-6);
}
