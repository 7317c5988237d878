import { invalid, problem } from "../../http/refusal.ts";
import { TookTooLong, withinTime } from "../../validate/time-limit.ts";
import type { ChatMessage, ChatRequest } from "../request.ts";
import { chanceFrom } from "./chance.ts";
import { describedShape } from "./described-shape.ts";
import { jsonAnswer } from "./json-answer.ts";
import { proseAbout } from "./prose.ts";
import { schemaInText } from "./schema-in-text.ts";
import type { SchemaNode } from "./schema-node.ts";
import { textAnswer } from "./text-answer.ts";
import { topicOf } from "./topic.ts";

/** Longest that reading a prompt may hold up the service, in milliseconds. */
const MAX_READ_MS = 250;

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

/** Prompts may be made to be slow to read; nobody else waits for them. @throws Refusal 400 */
function readInTime<T>(work: () => T): T {
  try {
    return withinTime(MAX_READ_MS, work);
  } catch (error) {
    if (error instanceof TookTooLong) throw invalid([problem("messages", "take too long to read", "complexity")]);
    throw error;
  }
}

/**
 * One answer to a request: JSON where it was asked for, a short text otherwise. The same request has the same answer.
 * @throws Refusal 400 for a schema that cannot be answered
 */
export function answerTo(request: ChatRequest, choice: number): string {
  const asked = lastAsked(request.messages);
  const all = request.messages.map(({ text }) => text).join("\n");
  const chance = chanceFrom(seedOf(request, choice));
  const { topic, shape } = readInTime(() => ({ topic: topicOf(asked, all), shape: shapeOf(request, asked, all) }));
  const prose = proseAbout(topic, chance);
  const inWords = () => readInTime(() => textAnswer(asked, topic, prose, chance));
  if (shape === null) return inWords();
  const answer = jsonAnswer(shape.schema, { topic, prose, chance });
  if (answer.is === "made") return JSON.stringify(answer.value, null, 2);
  if (!shape.isBinding) return request.format.is === "json" ? "{}" : inWords();
  throw invalid([problem("response_format.json_schema.schema", `cannot be answered: ${answer.reason}`, "schema")]);
}
