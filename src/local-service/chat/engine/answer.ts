import { TookTooLong, withinTime } from "../../../core/kit/within-time.ts";
import { invalid, problem } from "../../http/refusal.ts";
import { randomFrom } from "../../render/random.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../request.ts";
import {
  describedShape,
  jsonAnswer,
  type SchemaNode,
  type SimulatedText,
  schemaInText,
  withoutJson,
  wordsOf,
} from "./json-answer.ts";

const QUOTE = "[\"“'`]([^\"”'`\\n]{1,200})[\"”'`]";
const LITERAL = new RegExp(`\\b(?:reply|respond|answer|say|output|return)\\b[^.\\n"“'\`]{0,40}${QUOTE}`, "i");
const BARE_LITERAL =
  /\b(?:[Rr]eply|[Rr]espond|[Aa]nswer|[Ss]ay)\b(?:\s+(?:only|just|exactly|with|the|single|word))+:?\s+([A-Z][A-Z0-9]{0,20})\b/;
const MOST_QUOTED = 120;
const MOST_READ = 20_000;

function inShort(requested: string): string {
  const line = withoutJson(requested.slice(0, MOST_READ)).replaceAll(/\s+/gu, " ").trim();
  if (line.length <= MOST_QUOTED) return line;
  return `${line.slice(0, MOST_QUOTED).replace(/\s\S*$/u, "")}…`;
}

function literal(requested: string): string | null {
  const short = requested.slice(0, MOST_READ);
  return LITERAL.exec(short)?.[1] ?? BARE_LITERAL.exec(short)?.[1] ?? null;
}

function simulatedText(requested: string, variant: string): SimulatedText {
  const about = inShort(requested);
  return (index) => {
    const name = `Simulated answer${variant}${index === 0 ? "" : ` ${index + 1}`}`;
    return about === "" ? name : `${name} to: ${about}`;
  };
}

const MAX_READ_MS = 250;

function lastRequest(messages: readonly ChatMessage[]): string {
  const requested = messages.findLast(({ role, text }) => role === "user" && text.trim() !== "");
  return requested?.text ?? messages.at(-1)?.text ?? "";
}

function seedOf({ messages, temperature, seed }: ChatRequest): string {
  const loose = temperature === 0 ? [] : [temperature, seed];
  return JSON.stringify([messages, 0, ...loose]);
}

function shapeOf({ format }: ChatRequest, requested: string, text: string): SchemaNode | null {
  if (format.is === "schema") return format.schema;
  const wantsJson = format.is === "json" || /\bjson\b/i.test(requested);
  return schemaInText(text) ?? (wantsJson ? describedShape(text) : null);
}

/**
 * Runs `work` with a time limit, because a crafted prompt could otherwise block other requests.
 * @throws Refusal 400
 */
function readInTime<T>(work: () => T): T {
  try {
    return withinTime(MAX_READ_MS, work);
  } catch (error) {
    if (error instanceof TookTooLong) throw invalid([problem("messages", "take too long to analyze", "complexity")]);
    throw error;
  }
}

function portsOf(request: ChatRequest, black: readonly number[] | null) {
  const requested = lastRequest(request.messages);
  const all = request.messages.map(({ text }) => text).join("\n");
  const random = randomFrom(seedOf(request));
  const isSeeded = request.seed !== 0 && request.temperature !== 0;
  const variant = isSeeded ? ` ${String.fromCharCode(65 + Math.floor(random() * 26))}` : "";
  const text = readInTime(() => simulatedText(requested, variant));
  return { last: requested, all, ports: { requested: all.slice(0, MOST_READ), text, random, black } };
}

/**
 * Generates the answer to a chat request: JSON if requested, and otherwise a sentence marked as simulated.
 * @throws Refusal 400 if no value can satisfy the schema
 */
export function answerTo(request: ChatRequest, black: readonly number[] | null = null): string {
  const { last, all, ports } = portsOf(request, black);
  const schema = readInTime(() => shapeOf(request, last, all));
  const inWords = () => readInTime(() => literal(last)) ?? ports.text(0);
  if (schema === null) return inWords();
  const answer = jsonAnswer(schema, ports);
  if (answer.is === "value") return JSON.stringify(answer.value, null, 2);
  if (request.format.is !== "schema") return request.format.is === "json" ? "{}" : inWords();
  throw invalid([problem("response_format.json_schema.schema", `cannot be answered: ${answer.reason}`, "schema")]);
}

export function reasoningOn({ effort, messages }: ChatRequest): string {
  if (effort === null || effort === "none") return "";
  return `Simulated reasoning (effort ${effort}) about: ${inShort(lastRequest(messages))}`;
}

const LEAST_LETTERS = 4;

export function toolCalled({ tools, toolChoice, messages }: ChatRequest): ChatTool | null {
  if (toolChoice === "none") return null;
  if (typeof toolChoice === "object") return tools.find(({ name }) => name === toolChoice.name) ?? null;
  const words = new Set(wordsOf(lastRequest(messages).slice(0, MOST_READ)));
  const named = tools.find(({ name }) => wordsOf(name).some((word) => word.length >= LEAST_LETTERS && words.has(word)));
  if (toolChoice === "required") return named ?? tools[0] ?? null;
  return messages.at(-1)?.role === "user" ? (named ?? null) : null;
}

export function argumentsOf(request: ChatRequest, { name, parameters }: ChatTool): string {
  const answer = jsonAnswer({ type: "object", ...parameters }, portsOf(request, null).ports);
  if (answer.is === "value") return JSON.stringify(answer.value);
  throw invalid([problem("tools", `has a tool ${name} with unusable parameters: ${answer.reason}`, "schema")]);
}
