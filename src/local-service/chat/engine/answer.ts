import { invalid, problem } from "../../http/refusal.ts";
import { isRecord } from "../../json.ts";
import { TookTooLong, withinTime } from "../../validate/time-limit.ts";
import type { ChatMessage, ChatRequest } from "../request.ts";
import { jsonAnswer } from "./json-answer.ts";
import { type Chance, chanceFrom, type Prose, proseAbout, type Topic, topicOf } from "./prose.ts";
import { objectsIn, type SchemaNode } from "./schema-node.ts";

function isSchema(node: SchemaNode): boolean {
  const named = typeof node["$schema"] === "string" || isRecord(node["$defs"]);
  return (
    named ||
    (node["type"] === "object" && isRecord(node["properties"])) ||
    (node["type"] === "array" && "items" in node)
  );
}

/** Infers a schema from an example value. */
function schemaOfExample(example: unknown): SchemaNode {
  if (Array.isArray(example)) {
    const items = example.length > 0 ? schemaOfExample(example[0]) : {};
    return { type: "array", items, minItems: 1 };
  }
  if (isRecord(example)) {
    const names = Object.keys(example);
    const properties = Object.fromEntries(names.map((name) => [name, schemaOfExample(example[name])]));
    return { type: "object", properties, required: names, additionalProperties: false };
  }
  if (typeof example === "number") return { type: Number.isInteger(example) ? "integer" : "number" };
  return { type: example === null ? "string" : typeof example };
}

/** The JSON shape that a prompt requests: a schema in it, or else an example of the answer; null for neither. */
export function schemaInText(text: string): SchemaNode | null {
  const found = objectsIn(text).map(({ value }) => value);
  const schema = found.find(isSchema);
  if (schema) return schema;
  const example = found.findLast((node) => Object.keys(node).length > 0);
  return example && /json/i.test(text) ? schemaOfExample(example) : null;
}

const NAME = "[\"'`“]([A-Za-z_]\\w{0,40})[\"'`”]";
const LISTED =
  /\b(?:keys?|fields?|properties|attributes)\b[^.:\n]{0,20}?:?\s+((?:[A-Za-z_]\w*(?:\s*\([^)]{0,40}\))?(?:\s*,\s*(?:and\s+)?|\s+and\s+|(?=[.\n]|$)))+)/i;
const LIST_BEFORE = new RegExp(`\\b(?:array|list)\\s+(?:called|named|under|in|at)?\\s*${NAME}`);
const LIST_AFTER = new RegExp(`${NAME}\\s+(?:array|list)\\b`);

function names(text: string): string[] {
  const quoted = [...text.matchAll(new RegExp(NAME, "g"))].map(([, name = ""]) => name);
  if (quoted.length > 0) return [...new Set(quoted)];
  const listed = LISTED.exec(text)?.[1] ?? "";
  const bare = listed.replaceAll(/\([^)]*\)/g, "").split(/\s*,\s*(?:and\s+)?|\s+and\s+/);
  return [...new Set(bare.map((name) => name.trim()).filter((name) => /^[A-Za-z_]\w*$/.test(name)))];
}

const NUMERIC = /_ms$|seconds|duration|count|number|index|score|year|width|height/i;

function object(fields: readonly string[]): SchemaNode {
  const properties = fields.map((name) => [name, { type: NUMERIC.test(name) ? "integer" : "string" }]);
  return { type: "object", properties: Object.fromEntries(properties), required: fields, additionalProperties: false };
}

/** The shape that a prompt describes in words: `an array "shots" of objects with "prompt" and "duration_ms"`. */
export function describedShape(text: string): SchemaNode {
  const fields = names(text.slice(0, 20_000));
  const list = LIST_AFTER.exec(text)?.[1] ?? LIST_BEFORE.exec(text)?.[1];
  if (list !== undefined) {
    const own = fields.filter((name) => name !== list);
    const items = own.length > 0 ? object(own) : { type: "string" };
    return { type: "object", properties: { [list]: { type: "array", items, minItems: 1 } }, required: [list] };
  }
  return object(fields.length > 0 ? fields : ["answer"]);
}

type Writer = (topic: Topic, prose: Prose) => string;

const MOST_PARTS = 20;
const QUOTE = "[\"“'`]([^\"”'`\\n]{1,200})[\"”'`]";
const LITERAL = new RegExp(`\\b(?:reply|respond|answer|say|output|return)\\b[^.\\n"“'\`]{0,40}${QUOTE}`, "i");
const BARE_LITERAL =
  /\b(?:[Rr]eply|[Rr]espond|[Aa]nswer|[Ss]ay)\b(?:\s+(?:only|just|exactly|with|the|single|word))+:?\s+([A-Z][A-Z0-9]{0,20})\b/;
const CHOICE = /\b(?:one of|either|choose (?:from|between)|pick (?:from|between))\b:?\s+([^.\n]{3,300})/i;

const parts = (topic: Topic, usual: number) => Math.min(MOST_PARTS, topic.anyCount ?? usual);
const many = (count: number, write: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => write(index));

/** Writers by what the request's words call for; the first match writes. */
const BY_REQUEST: readonly (readonly [RegExp, Writer])[] = [
  [
    /\b(?:shot|scene|story)\s?(?:list|board)s?\b|\bshots\b|\bscenes\b/i,
    (topic, prose) => many(parts(topic, 4), (index) => `${index + 1}. ${prose.visual(index)}`).join("\n"),
  ],
  [
    /\b(?:list|bullets?|ideas|steps|options|reasons|tips|names|titles)\b/i,
    (topic, prose) =>
      many(parts(topic, 3), (index) => `${index + 1}. ${prose.title(index)}: ${prose.sentence(index)}`).join("\n"),
  ],
  [/\b(?:title|headline|slogan|tagline|name for)\b/i, (_topic, prose) => prose.title(0)],
  [
    /\b(?:narration|voice-?over|script|monologue|speech|story|tell|dialogue|say)\b/i,
    (topic, prose) => many(parts(topic, 3), (index) => prose.spoken(index)).join(" "),
  ],
  [/\b(?:prompt|visual|scene|shot|image|picture|photo|video|describe)\b/i, (_topic, prose) => prose.visual(0)],
];

function literal(requested: string): string | null {
  return LITERAL.exec(requested)?.[1] ?? BARE_LITERAL.exec(requested)?.[1] ?? null;
}

function choice(requested: string, chance: Chance): string | null {
  const [first, ...rest] = (CHOICE.exec(requested)?.[1] ?? "")
    .split(/\s*,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+/)
    .filter(Boolean);
  if (first === undefined || rest.length === 0) return null;
  return chance.pick([first, ...rest]).replaceAll(/^["'“]|["'”]$/g, "");
}

/** A short answer to the user's last message, from the user's own words. */
export function textAnswer(requested: string, topic: Topic, prose: Prose, chance: Chance): string {
  const short = requested.slice(0, 20_000);
  const said = literal(short) ?? choice(short, chance);
  if (said !== null) return said;
  const writer = BY_REQUEST.find(([pattern]) => pattern.test(short))?.[1];
  return writer?.(topic, prose) ?? `${prose.sentence(0)} ${prose.sentence(1)}`;
}

/** Limit for reading a prompt, in milliseconds. */
const MAX_READ_MS = 250;

function lastRequest(messages: readonly ChatMessage[]): string {
  const requested = messages.findLast(({ role, text }) => role === "user" && text.trim() !== "");
  return requested?.text ?? messages.at(-1)?.text ?? "";
}

/** Seed material of the answer's words: at temperature 0 the messages alone. */
function seedOf(request: ChatRequest, choice: number): string {
  const { messages, temperature, seed } = request;
  const loose = temperature === 0 ? [] : [temperature, seed];
  return JSON.stringify([messages, choice, ...loose]);
}

interface Shape {
  readonly schema: SchemaNode;
  /** The caller stated the schema, so an answer must validate against it. */
  readonly isBinding: boolean;
}

function shapeOf({ format }: ChatRequest, requested: string, text: string): Shape | null {
  if (format.is === "schema") return { schema: format.schema, isBinding: true };
  const schema = schemaInText(text);
  if (schema) return { schema, isBinding: false };
  return format.is === "json" || /\bjson\b/i.test(requested)
    ? { schema: describedShape(text), isBinding: false }
    : null;
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
 * @throws Refusal 400 for a schema that cannot be satisfied
 */
export function answerTo(request: ChatRequest, choice: number): string {
  const requested = lastRequest(request.messages);
  const all = request.messages.map(({ text }) => text).join("\n");
  const chance = chanceFrom(seedOf(request, choice));
  const { topic, shape } = readInTime(() => ({
    topic: topicOf(requested, all),
    shape: shapeOf(request, requested, all),
  }));
  const prose = proseAbout(topic, chance);
  const inWords = () => readInTime(() => textAnswer(requested, topic, prose, chance));
  if (shape === null) return inWords();
  const answer = jsonAnswer(shape.schema, { topic, prose, chance });
  if (answer.is === "value") return JSON.stringify(answer.value, null, 2);
  if (!shape.isBinding) return request.format.is === "json" ? "{}" : inWords();
  throw invalid([problem("response_format.json_schema.schema", `cannot be answered: ${answer.reason}`, "schema")]);
}
