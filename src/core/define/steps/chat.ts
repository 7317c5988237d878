import { z } from "zod";
import type { Json } from "../../plan/plan.ts";
import type { Media, MediaList, OrValue, ValueHandle } from "../handle.ts";
import { valueHandle } from "../handle.ts";
import type { UntypedValue } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { bindRevise, type ReviseOption } from "./approve.ts";
import { OptionReader, PAID_OPTIONS, type PaidOptions } from "./options.ts";

/** A request to a chat model: a prompt or a whole conversation. Fields that are not listed here are sent unchanged. */
export type ChatInput = ChatPrompt | ChatMessages;

interface ChatPrompt extends ChatSettings {
  readonly prompt: OrValue<string>;
  /** Instructions that precede the request. */
  readonly system?: OrValue<string> | undefined;
  readonly messages?: undefined;
}

interface ChatMessages extends ChatSettings {
  readonly messages: readonly ChatMessage[];
  readonly prompt?: undefined;
  readonly system?: undefined;
}

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: OrValue<string>;
}

interface ChatSettings {
  /** Images for the model, sent with the user's first message. Each can be up to 4 MiB. */
  readonly images?: Media<"image"> | MediaList<"image"> | undefined;
  /** Randomness of the answer. Default: the model's default. */
  readonly temperature?: OrValue<number> | undefined;
  /** Maximum length of the answer in tokens, which also limits its price. Default: the model's default. */
  readonly max_tokens?: OrValue<number> | undefined;
  readonly [field: string]: UntypedValue | readonly ChatMessage[];
}

export interface ChatOptions<S extends z.ZodType | undefined = z.ZodType | undefined>
  extends PaidOptions,
    ReviseOption<ChatBody> {
  /**
   * The zod schema of the answer. If set, the model receives it as JSON Schema and answers in JSON. Default: the answer
   * is text.
   */
  readonly schema?: S;
  /**
   * How many times an answer that does not fit the schema may be sent back for correction. Each time costs money.
   * Default 1.
   */
  readonly repairs?: number | undefined;
}

export type AnswerOf<S> = S extends z.ZodType ? z.output<S> : string;

export interface ChatMethod {
  /**
   * Adds a request to a chat model. Chats have no idempotency key, so after a crash at the wrong moment you may pay for
   * a second answer. Requires a `maxCost`, here or for the run.
   */
  <S extends z.ZodType | undefined = undefined>(
    name: string,
    model: string,
    input: ChatInput,
    options?: ChatOptions<S>,
  ): ValueHandle<AnswerOf<S>>;
}

/** The body of a chat request: the conversation and its settings. */
interface ChatBody {
  readonly messages: readonly { readonly role: ChatMessage["role"]; readonly content: string }[];
  readonly [setting: string]: unknown;
}

const ROLES = ["system", "user", "assistant", "developer", "tool"];

export function chatMethod(recorder: Recorder): ChatMethod {
  return <S extends z.ZodType | undefined = undefined>(
    name: string,
    model: string,
    input: ChatInput,
    options?: ChatOptions<S>,
  ) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a chat", [...PAID_OPTIONS, "schema", "repairs", "revise"]);
    const report = (code: string, field: string, message: string) =>
      recorder.report({ code, step: path, field, message });
    if (typeof model !== "string" || model === "")
      report("unknown-model", "model", "`model` must be the id of a chat model");
    recorder.add({
      kind: "chat",
      path,
      model: String(model),
      input: recorder.json(bodyOf(input, report, options?.schema !== undefined), { step: path, field: "input" }),
      schema: jsonSchema(read),
      repairs: read.count("repairs", { least: 0, most: 10, preset: 1 }),
      policy: read.policy(),
      after: read.after(),
      when: read.when(),
    });
    bindRevise(recorder, path, read);
    return valueHandle<AnswerOf<S>>(path, recorder.build);
  };
}

type Report = (code: string, field: string, message: string) => void;

function bodyOf(input: ChatInput, report: Report, hasSchema: boolean): object {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    report("type", "input", 'a chat takes { prompt: "…" } or { messages: […] }');
    return {};
  }
  const { prompt, system, messages, ...settings } = input;
  for (const field of ["model", "stream", ...(hasSchema ? ["response_format"] : [])]) {
    if (field in settings) report("unknown-field", `input.${field}`, `the run sets ${field} itself; remove ${field}`);
  }
  if (prompt === undefined && messages === undefined) {
    report("required", "input.prompt", "a chat needs either `prompt` or `messages`");
  }
  if (prompt !== undefined && messages !== undefined) {
    report("choice", "input", "use either `prompt` or `messages`, not both");
  }
  if (messages !== undefined) {
    checkMessages(messages, settings.images !== undefined, report);
    return { messages, ...settings };
  }
  const instructions = system === undefined ? [] : [{ role: "system", content: system }];
  return { messages: [...instructions, { role: "user", content: prompt ?? "" }], ...settings };
}

function checkMessages(messages: unknown, hasImages: boolean, report: Report): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    return report("type", "input.messages", "`messages` must be a list of at least one { role, content }");
  }
  for (const [index, message] of messages.entries()) {
    const role = typeof message === "object" && message !== null ? message.role : undefined;
    if (ROLES.includes(role)) continue;
    report("enum", `input.messages[${index}].role`, `a message's role must be one of ${ROLES.join(", ")}`);
  }
  if (hasImages && !messages.some((message) => message?.role === "user"))
    report("required", "input.messages", "images can only be sent with a user message; add one");
}

function jsonSchema(read: OptionReader): Json | null {
  const schema = read.get("schema");
  if (schema === undefined) return null;
  if (!(typeof schema === "object" && schema !== null && "safeParse" in schema)) {
    read.bad("schema", "`schema` must be a zod schema, such as z.object({ title: z.string() })");
    return null;
  }
  try {
    const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema as z.ZodType);
    return JSON.parse(JSON.stringify(jsonSchema)) as Json;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    read.bad("schema", `\`schema\` cannot be sent to the model: ${why}; use JSON types without transforms`);
    return null;
  }
}
