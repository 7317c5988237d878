import { invalid, problem } from "../../http/refusal.ts";
import type { ChatMessage, ChatRequest } from "../request.ts";
import { chanceFrom } from "./chance.ts";
import { describedShape } from "./described-shape.ts";
import { jsonAnswer } from "./json-answer.ts";
import { proseAbout } from "./prose.ts";
import { schemaInText } from "./schema-in-text.ts";
import type { SchemaNode } from "./schema-node.ts";
import { textAnswer } from "./text-answer.ts";
import { topicOf } from "./topic.ts";

function lastAsked(messages: readonly ChatMessage[]): string {
  const asked = messages.findLast(({ role, text }) => role === "user" && text.trim() !== "");
  return asked?.text ?? messages.at(-1)?.text ?? "";
}

/** What the answer's words are drawn from: at temperature 0 the messages alone. */
function seedOf(request: ChatRequest, choice: number): string {
  const { messages, temperature, seed } = request;
  const loose = temperature === 0 ? [] : [temperature, seed];
  return JSON.stringify([messages, choice, ...loose]);
}

interface Shape {
  readonly schema: SchemaNode;
  /** The caller stated it as a schema, so an answer that does not fit is none. */
  readonly isBinding: boolean;
}

function shapeOf({ format }: ChatRequest, asked: string, text: string): Shape | null {
  if (format.is === "schema") return { schema: format.schema, isBinding: true };
  const schema = schemaInText(text);
  if (schema) return { schema, isBinding: false };
  return format.is === "json" || /\bjson\b/i.test(asked) ? { schema: describedShape(text), isBinding: false } : null;
}

/**
 * One answer to a request: JSON where it was asked for, a short text otherwise. The same request has the same answer.
 * @throws Refusal 400 for a schema that cannot be answered
 */
export function answerTo(request: ChatRequest, choice: number): string {
  const asked = lastAsked(request.messages);
  const all = request.messages.map(({ text }) => text).join("\n");
  const chance = chanceFrom(seedOf(request, choice));
  const topic = topicOf(asked, all);
  const prose = proseAbout(topic, chance);
  const shape = shapeOf(request, asked, all);
  if (shape === null) return textAnswer(asked, topic, prose, chance);
  const answer = jsonAnswer(shape.schema, { topic, prose, chance });
  if (answer.is === "made") return JSON.stringify(answer.value, null, 2);
  if (!shape.isBinding) return request.format.is === "json" ? "{}" : textAnswer(asked, topic, prose, chance);
  throw invalid([problem("response_format.json_schema.schema", `cannot be answered: ${answer.reason}`, "schema")]);
}
