import { z } from "zod";
import { parseBody } from "../http/body.ts";
import { invalid, problem } from "../http/refusal.ts";

/** Upper limit on tokens of an answer, even when more are requested. */
export const MAX_COMPLETION_TOKENS = 16_384;
const DEFAULT_COMPLETION_TOKENS = 4_096;
/** Upper limit on characters of all messages together. */
const MAX_PROMPT_CHARACTERS = 1_000_000;
const MAX_CHOICES = 8;
const MAX_STOPS = 4;
const MOST_IMAGES = 100;
const stop = z.string().max(10_000);

const part = z.looseObject({
  type: z.string().max(100),
  text: z.string().nullish(),
  image_url: z.looseObject({ url: z.string() }).nullish(),
});

const message = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: z.union([z.string(), z.array(part).max(1000)]).nullish(),
});

const responseFormat = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    json_schema: z.looseObject({
      name: z.string().min(1).max(64),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  }),
]);

/** `POST /chat/completions`. Unknown fields are ignored. */
export const chatBody = z.object({
  model: z.string().max(200),
  messages: z.array(message).min(1).max(1000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  seed: z.int().nullish(),
  stop: z.union([stop, z.array(stop).max(MAX_STOPS)]).nullish(),
  response_format: responseFormat.nullish(),
  tool_choice: z.union([z.enum(["none", "auto", "required"]), z.looseObject({ type: z.string().max(100) })]).nullish(),
});

export type ResponseFormat =
  | { readonly is: "text" }
  | { readonly is: "json" }
  | { readonly is: "schema"; readonly schema: Readonly<Record<string, unknown>> };

/** One message as the engine sees it: plain text. */
export interface ChatMessage {
  readonly role: string;
  readonly text: string;
}

/** A request with its defaults filled. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Addresses of its pictures, mostly `data:`. */
  readonly images: readonly string[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly maxTokens: number;
  readonly temperature: number;
  readonly choices: number;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly format: ResponseFormat;
}

type Body = z.output<typeof chatBody>;

function textOf(content: Body["messages"][number]["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((item) => item.text ?? []).join("\n");
}

function imagesOf({ messages }: Body): readonly string[] {
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : (content ?? [])));
  return parts.flatMap(({ image_url }) => image_url?.url ?? []).slice(0, MOST_IMAGES);
}

function formatOf(format: Body["response_format"]): ResponseFormat {
  switch (format?.type) {
    case undefined:
    case "text":
      return { is: "text" };
    case "json_object":
      return { is: "json" };
    case "json_schema":
      return { is: "schema", schema: format.json_schema.schema };
  }
}

function stopsOf(stop: Body["stop"]): readonly string[] {
  const all = typeof stop === "string" ? [stop] : (stop ?? []);
  return all.filter((text) => text !== "");
}

function assertAnswerable(body: Body, messages: readonly ChatMessage[]): void {
  const length = messages.reduce((sum, { text }) => sum + text.length, 0);
  if (length > MAX_PROMPT_CHARACTERS) {
    throw invalid([problem("messages", `have more than ${MAX_PROMPT_CHARACTERS} characters`, "maxLength")]);
  }
  const choice = body.tool_choice ?? "auto";
  if (choice === "auto" || choice === "none") return;
  throw invalid([problem("tool_choice", "cannot demand a call: no model here calls tools", "enum", ["none", "auto"])]);
}

/** The model that a body names, read before the rest is validated; null when it names none. */
export function modelNamed(body: unknown): string | null {
  const name = typeof body === "object" && body !== null && "model" in body ? body.model : null;
  return typeof name === "string" ? name : null;
}

/** @throws Refusal 400 with every bad field */
export function readChatRequest(value: unknown): ChatRequest {
  const body = parseBody(chatBody, value);
  const messages = body.messages.map(({ role, content }) => ({ role, text: textOf(content) }));
  assertAnswerable(body, messages);
  const requested = body.max_completion_tokens ?? body.max_tokens ?? DEFAULT_COMPLETION_TOKENS;
  return {
    model: body.model,
    messages,
    images: imagesOf(body),
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    maxTokens: Math.min(requested, MAX_COMPLETION_TOKENS),
    temperature: body.temperature ?? 1,
    choices: body.n ?? 1,
    seed: body.seed ?? 0,
    stops: stopsOf(body.stop),
    format: formatOf(body.response_format),
  };
}
