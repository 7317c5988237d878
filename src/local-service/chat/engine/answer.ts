import { invalid, problem } from "../../http/refusal.ts";
import { randomFrom } from "../../render/random.ts";
import { TookTooLong, withinTime } from "../../validate/time-limit.ts";
import type { ChatMessage, ChatRequest } from "../request.ts";
import { jsonAnswer, type SimulatedText } from "./json-answer.ts";
import { describedShape, type SchemaNode, schemaInText, withoutJson } from "./json-text.ts";

const QUOTE = "[\"“'`]([^\"”'`\\n]{1,200})[\"”'`]";
const LITERAL = new RegExp(`\\b(?:reply|respond|answer|say|output|return)\\b[^.\\n"“'\`]{0,40}${QUOTE}`, "i");
const BARE_LITERAL =
  /\b(?:[Rr]eply|[Rr]espond|[Aa]nswer|[Ss]ay)\b(?:\s+(?:only|just|exactly|with|the|single|word))+:?\s+([A-Z][A-Z0-9]{0,20})\b/;
/** Of a request, in an answer to it. */
const MOST_QUOTED = 120;
/** Of a request, where it is read for what it asks. */
const MOST_READ = 20_000;

/** What a request says in words, in one line, cut at a word. */
function inShort(requested: string): string {
  const line = withoutJson(requested.slice(0, MOST_READ)).replaceAll(/\s+/gu, " ").trim();
  if (line.length <= MOST_QUOTED) return line;
  return `${line.slice(0, MOST_QUOTED).replace(/\s\S*$/u, "")}…`;
}

/** The words that a request asks for to the letter: `Reply with "OK"`. */
function literal(requested: string): string | null {
  const short = requested.slice(0, MOST_READ);
  return LITERAL.exec(short)?.[1] ?? BARE_LITERAL.exec(short)?.[1] ?? null;
}

/** `variant` tells answers of other seeds apart. */
function simulatedText(requested: string, choice: number, variant: string): SimulatedText {
  const about = inShort(requested);
  return (index) => {
    const name = `Simulated answer${variant}${index + choice === 0 ? "" : ` ${index + choice + 1}`}`;
    return about === "" ? name : `${name} to: ${about}`;
  };
}

/** Limit for reading a prompt, in milliseconds. */
const MAX_READ_MS = 250;

function lastRequest(messages: readonly ChatMessage[]): string {
  const requested = messages.findLast(({ role, text }) => role === "user" && text.trim() !== "");
  return requested?.text ?? messages.at(-1)?.text ?? "";
}

/** Seed material of the answer's words: at temperature 0 the messages alone. */
function seedOf({ messages, temperature, seed }: ChatRequest, choice: number): string {
  const loose = temperature === 0 ? [] : [temperature, seed];
  return JSON.stringify([messages, choice, ...loose]);
}

/** The shape of an answer in JSON; null for an answer in words. A schema that the caller stated is kept to the letter. */
function shapeOf({ format }: ChatRequest, requested: string, text: string): SchemaNode | null {
  if (format.is === "schema") return format.schema;
  const wantsJson = format.is === "json" || /\bjson\b/i.test(requested);
  return schemaInText(text) ?? (wantsJson ? describedShape(text) : null);
}

/** Runs under a time limit: a crafted prompt must not block other requests. @throws Refusal 400 */
function readInTime<T>(work: () => T): T {
  try {
    return withinTime(MAX_READ_MS, work);
  } catch (error) {
    if (error instanceof TookTooLong) throw invalid([problem("messages", "take too long to read", "complexity")]);
    throw error;
  }
}

/**
 * Answers a request: JSON where it was requested, else a sentence that says that it is simulated. Equal requests get equal answers.
 * Of pictures it says, in a field `pass` with `reasons`, that all are right but the black ones.
 * @throws Refusal 400 for a schema that cannot be satisfied
 */
export function answerTo(request: ChatRequest, choice: number, black: readonly number[] | null = null): string {
  const requested = lastRequest(request.messages);
  const all = request.messages.map(({ text }) => text).join("\n");
  const random = randomFrom(seedOf(request, choice));
  const isSeeded = request.seed !== 0 && request.temperature !== 0;
  const variant = isSeeded ? ` ${String.fromCharCode(65 + Math.floor(random() * 26))}` : "";
  const schema = readInTime(() => shapeOf(request, requested, all));
  const text = readInTime(() => simulatedText(requested, choice, variant));
  const inWords = () => readInTime(() => literal(requested)) ?? text(0);
  if (schema === null) return inWords();
  const answer = jsonAnswer(schema, { requested: all.slice(0, MOST_READ), text, random, black });
  if (answer.is === "value") return JSON.stringify(answer.value, null, 2);
  if (request.format.is !== "schema") return request.format.is === "json" ? "{}" : inWords();
  throw invalid([problem("response_format.json_schema.schema", `cannot be answered: ${answer.reason}`, "schema")]);
}
