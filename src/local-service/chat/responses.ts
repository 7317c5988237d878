import { z } from "zod";
import { parseBody } from "../http/body.ts";
import { isRecord } from "../json.ts";
import { type AnswerToken, type Composed, textOf } from "./chat-job.ts";
import { type AnswerForm, type AnswerHead, callId, type FrameWriter } from "./form.ts";

const part = z.discriminatedUnion("type", [
  z.looseObject({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() }),
  z.looseObject({ type: z.literal("input_image"), image_url: z.string() }),
]);
const content = z.union([z.string(), z.array(part)]);
const NO_ITEM = "is not a supported item; responses are not stored, so send the items themselves instead of references";
const item = z.discriminatedUnion(
  "type",
  [
    z.looseObject({
      type: z.literal("message").optional(),
      role: z.enum(["user", "assistant", "system", "developer"]),
      content,
    }),
    z.looseObject({ type: z.literal("function_call"), call_id: z.string(), name: z.string(), arguments: z.string() }),
    z.looseObject({ type: z.literal("function_call_output"), call_id: z.string(), output: content }),
    z.looseObject({ type: z.literal("reasoning") }),
  ],
  { error: NO_ITEM },
);
const functionTool = z.looseObject({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
const namespaceTool = z.looseObject({ type: z.literal("namespace"), name: z.string(), tools: z.array(functionTool) });
const format = z.discriminatedUnion("type", [
  z.looseObject({ type: z.enum(["text", "json_object"]) }),
  z.looseObject({ type: z.literal("json_schema"), name: z.string(), schema: z.record(z.string(), z.unknown()) }),
]);

/** Body of a request to the Responses API. It cannot refer to earlier responses, because they are not stored. */
export const responsesBody = z.strictObject({
  model: z.string().max(200),
  input: z.array(item).min(1).max(1000),
  instructions: z.string().nullish(),
  tools: z.array(z.discriminatedUnion("type", [functionTool, namespaceTool])).nullish(),
  tool_choice: z
    .union([z.enum(["none", "auto", "required"]), z.looseObject({ type: z.literal("function"), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z
    .looseObject({ effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish() })
    .nullish(),
  text: z.looseObject({ format: format.nullish() }).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  store: z.literal(false).nullish(),
  include: z.array(z.string()).nullish(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  user: z.string().nullish(),
  client_metadata: z.record(z.string(), z.unknown()).nullish(),
});

export type ResponsesBody = z.output<typeof responsesBody>;

export function readResponsesBody(value: unknown): ResponsesBody {
  const isText = isRecord(value) && typeof value["input"] === "string";
  return parseBody(responsesBody, isText ? { ...value, input: [{ role: "user", content: value["input"] }] } : value);
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^messages(\[|\b).*$/, "input"],
  [/^max_(completion_)?tokens$/, "max_output_tokens"],
  [/^response_format\.json_schema/, "text.format"],
];

export function responsesField(field: string): string {
  return NAMES.reduce((name, [pattern, here]) => name.replace(pattern, here), field);
}

const SEPARATOR = "__";
const EFFORTS: Readonly<Record<string, string | null>> = { minimal: "low", medium: null, xhigh: "max" };

export function toChatBody(body: ResponsesBody): object {
  const { model, max_output_tokens, parallel_tool_calls, temperature, top_p, stream } = body;
  const { prompt_cache_key, safety_identifier, user, instructions, tool_choice: choice } = body;
  const effort = body.reasoning?.effort ?? null;
  const system = instructions ? [{ role: "system", content: instructions }] : [];
  const named = typeof choice === "object" && choice !== null;
  return {
    model,
    messages: [...system, ...body.input.flatMap(messageOf)],
    tools: (body.tools ?? []).flatMap(toolsOf).map(({ type, ...definition }) => ({ type, function: definition })),
    tool_choice: named ? { type: "function", function: { name: choice.name } } : choice,
    max_completion_tokens: max_output_tokens,
    reasoning_effort: effort !== null && effort in EFFORTS ? EFFORTS[effort] : effort,
    response_format: formatOf(body.text?.format),
    ...{ parallel_tool_calls, temperature, top_p, stream, prompt_cache_key, safety_identifier, user },
  };
}

function messageOf(item: ResponsesBody["input"][number]): readonly object[] {
  switch (item.type) {
    case undefined:
    case "message":
      return [{ role: item.role, content: contentOf(item.content) }];
    case "function_call": {
      const called = { name: item.name, arguments: item.arguments };
      return [{ role: "assistant", tool_calls: [{ id: item.call_id, type: "function", function: called }] }];
    }
    case "function_call_output":
      return [{ role: "tool", tool_call_id: item.call_id, content: contentOf(item.output) }];
    case "reasoning":
      return [];
  }
}

function contentOf(content: string | readonly z.output<typeof part>[]) {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "input_image"
      ? { type: "image_url", image_url: { url: part.image_url } }
      : { type: "text", text: part.text },
  );
}

function toolsOf(tool: NonNullable<ResponsesBody["tools"]>[number]) {
  if (tool.type === "function") return [tool];
  return tool.tools.map((inner) => ({ ...inner, name: `${tool.name}${SEPARATOR}${inner.name}` }));
}

function formatOf(format: NonNullable<ResponsesBody["text"]>["format"]): object | null {
  if (format?.type !== "json_schema") return format ?? null;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}

const EVENTS = {
  text: { delta: "output_text", part: "content_part", index: "content_index" },
  reasoning: { delta: "reasoning_summary_text", part: "reasoning_summary_part", index: "summary_index" },
  call: { delta: "function_call_arguments", part: null, index: null },
} as const;

interface OutputItem {
  readonly of: AnswerToken["of"];
  readonly text: string;
  readonly whole: Readonly<Record<string, unknown>> & { readonly id: string };
}

function itemsOf(head: AnswerHead, composed: Composed, body: ResponsesBody): readonly OutputItem[] {
  const { tool, reasoningTokens } = composed;
  const id = (prefix: string) => head.id.replace("job_", `${prefix}_`);
  const text = (of: AnswerToken["of"]) => textOf(composed, of);
  const items: OutputItem[] = [];
  if (reasoningTokens > 0) {
    const summary = [partOf("reasoning", text("reasoning"))];
    items.push({ of: "reasoning", text: text("reasoning"), whole: { id: id("rs"), type: "reasoning", summary } });
  }
  const status = composed.finishReason === "length" ? "incomplete" : "completed";
  if (tool === null) {
    const content = [partOf("text", text("text"))];
    const whole = { id: id("msg"), type: "message", role: "assistant", status, content };
    return [...items, { of: "text", text: text("text"), whole }];
  }
  const spaces = (body.tools ?? []).filter((entry) => entry.type === "namespace");
  const space = spaces.find((entry) => toolsOf(entry).some(({ name }) => name === tool));
  const name = space ? tool.slice(space.name.length + SEPARATOR.length) : tool;
  const called = { call_id: callId(head), name, ...(space && { namespace: space.name }) };
  const whole = { id: id("fc"), type: "function_call", status, ...called, arguments: text("call") };
  return [...items, { of: "call", text: text("call"), whole }];
}

function partOf(of: AnswerToken["of"], text: string): object {
  return of === "reasoning"
    ? { type: "summary_text", text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
}

export function responsesForm(head: AnswerHead, composed: Composed, body: ResponsesBody): AnswerForm {
  const items = itemsOf(head, composed, body);
  const isCut = composed.finishReason === "length";
  const response = {
    id: head.id,
    object: "response",
    created_at: head.created,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    model: head.model,
    output: [] as readonly object[],
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: null },
    store: false,
    temperature: body.temperature ?? null,
    text: body.text ?? { format: { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    usage: null,
    metadata: {},
  };
  const { promptTokens, tokens, reasoningTokens } = composed;
  const whole = () => ({
    ...response,
    status: isCut ? "incomplete" : "completed",
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    output: items.map((item) => item.whole),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: tokens.length,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: promptTokens + tokens.length,
    },
  });

  function frames(): FrameWriter {
    let sent = 0;
    let open = -1;
    const event = (type: string, fields: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sent++, ...fields })}\n\n`;

    function begun({ of, whole }: OutputItem, output_index: number): readonly string[] {
      const { part, index } = EVENTS[of];
      const empty = of === "call" ? { arguments: "" } : of === "text" ? { content: [] } : { summary: [] };
      const item = { ...whole, ...empty, ...("status" in whole && { status: "in_progress" }) };
      const added = event("response.output_item.added", { output_index, item });
      if (part === null) return [added];
      const place = { item_id: whole.id, output_index, [index]: 0 };
      return [added, event(`response.${part}.added`, { ...place, part: partOf(of, "") })];
    }

    function ended({ of, whole, text }: OutputItem, output_index: number): readonly string[] {
      const { delta, part, index } = EVENTS[of];
      const place = { item_id: whole.id, output_index, ...(index && { [index]: 0 }) };
      const texts = of === "call" ? { name: whole["name"], arguments: text } : { text };
      return [
        event(`response.${delta}.done`, { ...place, ...texts }),
        ...(part === null ? [] : [event(`response.${part}.done`, { ...place, part: partOf(of, text) })]),
        event("response.output_item.done", { output_index, item: whole }),
      ];
    }

    function upTo(next: number): readonly string[] {
      const frames: string[] = [];
      while (open < next) {
        if (open >= 0) frames.push(...ended(items[open]!, open));
        open += 1;
        if (open < items.length) frames.push(...begun(items[open]!, open));
      }
      return frames;
    }

    return {
      first: () => [event("response.created", { response }), event("response.in_progress", { response })],
      token({ of, text }) {
        const at = items.findIndex((item) => item.of === of);
        const { delta, index } = EVENTS[of];
        const place = { item_id: items[at]!.whole.id, output_index: at, ...(index && { [index]: 0 }) };
        return [...upTo(at), event(`response.${delta}.delta`, { ...place, delta: text })];
      },
      last: () => [
        ...upTo(items.length),
        event(isCut ? "response.incomplete" : "response.completed", { response: whole() }),
      ],
      error: (error) => event("error", { code: error.code, message: error.message, param: error.param ?? null, error }),
    };
  }

  return { whole, frames };
}
