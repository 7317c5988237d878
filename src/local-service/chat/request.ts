import { z } from "zod";
import { parseBody } from "../http/body.ts";
import { type FieldProblem, invalid, problem } from "../http/refusal.ts";
import { type ChatModel, mostImages } from "./models.ts";

export const MAX_CHAT_BYTES = 5 * 1024 * 1024;
const MAX_PROMPT_CHARACTERS = 1_000_000;
const MAX_STOPS = 4;
const MAX_TOOLS = 128;
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

const toolName = z.string().regex(/^[\w.-]{1,200}$/);
const tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: toolName,
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});
const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: toolName }) }),
]);

export const chatBody = z.strictObject({
  model: z.string().max(200),
  messages: z.array(message).min(1).max(1000),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  n: z.literal(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).max(MAX_TOOLS).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormat.nullish(),
  reasoning_effort: z.enum(["none", "low", "high", "max"]).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  stop: z.union([stop, z.array(stop).max(MAX_STOPS)]).nullish(),
  seed: z.int().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  logprobs: z.literal(false).nullish(),
  top_logprobs: z.literal([false, 0]).nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
});

/** Request body in API version 3.9. That version ignored fields that are now refused. */
const earlierBody = chatBody.omit({ n: true, logprobs: true, top_logprobs: true, reasoning_effort: true }).strip();

export type ResponseFormat =
  | { readonly is: "text" }
  | { readonly is: "json" }
  | { readonly is: "schema"; readonly schema: Readonly<Record<string, unknown>> };

export interface ChatMessage {
  readonly role: string;
  readonly text: string;
}

export interface ChatTool {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ChatRequest {
  readonly model: ChatModel;
  readonly messages: readonly ChatMessage[];
  readonly images: readonly string[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Maximum number of tokens in the answer, including reasoning tokens. */
  readonly maxTokens: number;
  readonly temperature: number;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly format: ResponseFormat;
  readonly tools: readonly ChatTool[];
  readonly toolChoice: "none" | "auto" | "required" | { readonly name: string };
  readonly effort: "none" | "low" | "high" | "max" | null;
}

type Body = z.output<typeof earlierBody> & Partial<z.output<typeof chatBody>>;

function textOf(content: Body["messages"][number]["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((item) => item.text ?? []).join("\n");
}

interface ShownImage {
  readonly field: string;
  readonly url: string;
}

function imagesOf({ messages }: Body): readonly ShownImage[] {
  return messages.flatMap(({ content }, index) =>
    (typeof content === "string" ? [] : (content ?? [])).flatMap(({ image_url }, at) =>
      image_url ? [{ field: `messages[${index}].content[${at}].image_url.url`, url: image_url.url }] : [],
    ),
  );
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

function choiceOf(choice: Body["tool_choice"]): ChatRequest["toolChoice"] {
  return typeof choice === "object" && choice !== null ? { name: choice.function.name } : (choice ?? "auto");
}

function limitOf({ max_tokens, max_completion_tokens }: Body, model: ChatModel) {
  const byDefault = Math.min(model.default_max_tokens, model.max_output_tokens);
  const limits = { max_tokens: max_tokens ?? Infinity, max_completion_tokens: max_completion_tokens ?? Infinity };
  const field = limits.max_tokens < limits.max_completion_tokens ? "max_tokens" : "max_completion_tokens";
  return { field, tokens: Number.isFinite(limits[field]) ? limits[field] : byDefault } as const;
}

function* problemsOf({ messages, tools, toolChoice }: ChatRequest): Generator<FieldProblem> {
  if (messages.reduce((sum, { text }) => sum + text.length, 0) > MAX_PROMPT_CHARACTERS)
    yield problem("messages", `have more than ${MAX_PROMPT_CHARACTERS} characters`, "maxLength");
  const names = tools.map(({ name }) => name);
  const isKnown = typeof toolChoice === "object" ? names.includes(toolChoice.name) : names.length > 0;
  if (!isKnown && toolChoice !== "none" && toolChoice !== "auto")
    yield problem("tool_choice", "requires a tool that is not listed in tools", "enum", names);
}

function* laterProblems(body: Body, model: ChatModel, images: readonly ShownImage[]): Generator<FieldProblem> {
  if (body.stream_options && !body.stream) yield problem("stream_options", "requires stream: true", "invalid");
  const { field, tokens } = limitOf(body, model);
  if (tokens > model.max_output_tokens)
    yield problem(field, `exceeds the limit of ${model.max_output_tokens} tokens for ${model.id}`, "maximum");
  const most = mostImages(model);
  if (images.length > most)
    yield problem("messages", `contain ${images.length} images, but ${model.id} accepts at most ${most}`, "maxItems");
  for (const { field, url } of images)
    if (!/^(https:\/\/|data:)/i.test(url)) yield problem(field, "is neither an https nor a data URL", "format");
}

export function modelNamed(body: unknown): string | null {
  const name = typeof body === "object" && body !== null && "model" in body ? body.model : null;
  return typeof name === "string" ? name : null;
}

export function readChatRequest(value: unknown, model: ChatModel, { isEarlier = false } = {}): ChatRequest {
  const body: Body = parseBody<Body>(isEarlier ? earlierBody : chatBody, value);
  const images = imagesOf(body);
  const request: ChatRequest = {
    model,
    messages: body.messages.map(({ role, content }) => ({ role, text: textOf(content) })),
    images: images.map(({ url }) => url),
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    maxTokens: Math.min(limitOf(body, model).tokens, model.max_output_tokens),
    temperature: body.temperature ?? 1,
    seed: body.seed ?? 0,
    stops: stopsOf(body.stop),
    format: formatOf(body.response_format),
    tools: (body.tools ?? []).map(({ function: { name, parameters } }) => ({ name, parameters: parameters ?? {} })),
    toolChoice: choiceOf(body.tool_choice),
    effort: body.reasoning_effort ?? null,
  };
  const problems = [...problemsOf(request), ...(isEarlier ? [] : laterProblems(body, model, images))];
  if (problems.length > 0) throw invalid(problems);
  return request;
}
