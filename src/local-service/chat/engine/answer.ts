import { invalid, problem } from "../../http/refusal.ts";
import { pick, type Random, randomFrom } from "../../render/random.ts";
import { TookTooLong, withinTime } from "../../validate/time-limit.ts";
import type { ChatMessage, ChatRequest } from "../request.ts";
import { jsonAnswer } from "./json-answer.ts";
import { describedShape, type SchemaNode, schemaInText } from "./json-text.ts";
import { type Prose, proseAbout, type Topic, topicOf } from "./prose.ts";

type Writer = (prose: Prose, lines: (usual: number, write: (index: number) => string) => string) => string;

const MOST_LINES = 20;
const QUOTE = "[\"“'`]([^\"”'`\\n]{1,200})[\"”'`]";
const LITERAL = new RegExp(`\\b(?:reply|respond|answer|say|output|return)\\b[^.\\n"“'\`]{0,40}${QUOTE}`, "i");
const BARE_LITERAL =
  /\b(?:[Rr]eply|[Rr]espond|[Aa]nswer|[Ss]ay)\b(?:\s+(?:only|just|exactly|with|the|single|word))+:?\s+([A-Z][A-Z0-9]{0,20})\b/;
const CHOICE = /\b(?:one of|either|choose (?:from|between)|pick (?:from|between))\b:?\s+([^.\n]{3,300})/i;

/** Writers by what the request's words call for; the first match writes. */
const BY_REQUEST: readonly (readonly [RegExp, Writer])[] = [
  [
    /\b(?:shot|scene|story)\s?(?:list|board)s?\b|\bshots\b|\bscenes\b/i,
    (prose, lines) => lines(4, (index) => `${index + 1}. ${prose.visual(index)}`),
  ],
  [
    /\b(?:list|bullets?|ideas|steps|options|reasons|tips|names|titles)\b/i,
    (prose, lines) => lines(3, (index) => `${index + 1}. ${prose.title(index)}: ${prose.sentence(index)}`),
  ],
  [/\b(?:title|headline|slogan|tagline|name for)\b/i, (prose) => prose.title(0)],
  [/\b(?:prompt|visual|scene|shot|image|picture|photo|video|describe)\b/i, (prose) => prose.visual(0)],
];

function choice(requested: string, random: Random): string | null {
  const [first, ...rest] = (CHOICE.exec(requested)?.[1] ?? "")
    .split(/\s*,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+/)
    .filter(Boolean);
  if (first === undefined || rest.length === 0) return null;
  return pick(random, [first, ...rest]).replaceAll(/^["'“]|["'”]$/g, "");
}

/** A short answer to the user's last message, from the user's own words. */
function textAnswer(requested: string, topic: Topic, prose: Prose, random: Random): string {
  const short = requested.slice(0, 20_000);
  const said = LITERAL.exec(short)?.[1] ?? BARE_LITERAL.exec(short)?.[1] ?? choice(short, random);
  if (said !== null) return said;
  const write = BY_REQUEST.find(([pattern]) => pattern.test(short))?.[1];
  const lines: Parameters<Writer>[1] = (usual, line) => {
    const count = Math.min(MOST_LINES, topic.anyCount ?? usual);
    return Array.from({ length: count }, (_, index) => line(index)).join("\n");
  };
  return write?.(prose, lines) ?? [0, 1, 2].map(prose.sentence).join(" ");
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
 * Answers a request: JSON where it was requested, a short text otherwise. Equal requests get equal answers.
 * Of pictures it says, in a field `pass` with `reasons`, that all are right but the black ones.
 * @throws Refusal 400 for a schema that cannot be satisfied
 */
export function answerTo(request: ChatRequest, choice: number, black: readonly number[] | null = null): string {
  const requested = lastRequest(request.messages);
  const all = request.messages.map(({ text }) => text).join("\n");
  const random = randomFrom(seedOf(request, choice));
  const topic = readInTime(() => topicOf(requested, all));
  const schema = readInTime(() => shapeOf(request, requested, all));
  const prose = proseAbout(topic, random);
  const inWords = () => readInTime(() => textAnswer(requested, topic, prose, random));
  if (schema === null) return inWords();
  const answer = jsonAnswer(schema, { topic, prose, random, black });
  if (answer.is === "value") return JSON.stringify(answer.value, null, 2);
  if (request.format.is !== "schema") return request.format.is === "json" ? "{}" : inWords();
  throw invalid([problem("response_format.json_schema.schema", `cannot be answered: ${answer.reason}`, "schema")]);
}
