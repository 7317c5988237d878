import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { generateSync, type JsonSchema } from "json-schema-faker";
import { TookTooLong, withinTime } from "../../../core/kit/within-time.ts";
import { isRecord, parsed } from "../../json.ts";
import type { Random } from "../../render/random.ts";

const LEFT_OUT = new Set(["$schema", "$id", "id"]);

/** Converts a schema of an older dialect, in which a list under `items` means `prefixItems`. */
function prepareSchema(schema: SchemaNode): SchemaNode {
  function prepared(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(prepared);
    if (!isRecord(node)) return node;
    const { items, additionalItems, ...rest } = node;
    const entries = Object.entries(rest).map(([key, value]) => [key, prepared(value)] as const);
    if (Array.isArray(items)) entries.push(["prefixItems", prepared(items)], ["items", additionalItems ?? true]);
    else if (items !== undefined) entries.push(["items", prepared(items)]);
    return Object.fromEntries(entries);
  }

  const entries = Object.entries(schema).filter(([key, value]) => !(LEFT_OUT.has(key) && typeof value === "string"));
  return prepared(Object.fromEntries(entries)) as SchemaNode;
}

const USUAL_LENGTH = 3;
const MAX_MS = 400;
const ATTEMPTS = 12;
const DEEPEST = 30;
const LONGEST_PATTERN = 20_000;

type JsonAnswer =
  | { readonly is: "value"; readonly value: unknown }
  | { readonly is: "impossible"; readonly reason: string };

export type SimulatedText = (index: number) => string;

interface Ports {
  readonly requested: string;
  readonly text: SimulatedText;
  readonly random: Random;
  /** Positions of the request's black images, starting at 1, or null if the request has no images. */
  readonly black: readonly number[] | null;
}

function judged(value: unknown, { black }: Ports): unknown {
  if (black === null || !isRecord(value) || typeof value["pass"] !== "boolean") return value;
  const reasons = black.map((number) => `image ${number} is black`);
  return { ...value, pass: black.length === 0, ...(Array.isArray(value["reasons"]) && { reasons }) };
}

function suited(value: unknown, schema: JsonSchema, pointer: string, { requested, text }: Ports): unknown {
  if (!isRecord(schema) || "const" in schema) return value;
  const place = placeOf(pointer);
  if ("enum" in schema) return (place.index === 0 ? namedOption(schema, requested) : undefined) ?? value;
  if (typeof value === "number") {
    const likely = likelyNumber(place);
    return likely !== null && isWithin(likely, schema) ? likely : value;
  }
  if (typeof value !== "string" || "format" in schema) return value;
  return "pattern" in schema ? repeated(value, schema) : likelyText(schema, place, text);
}

/** Returns a schema whose lists have three elements where their bounds allow it. */
function withUsualLengths(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withUsualLengths);
  if (!isRecord(node)) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withUsualLengths(value)]));
  if (node["type"] === "array" && node["uniqueItems"] !== true && !("prefixItems" in node)) {
    const most = Math.min(USUAL_LENGTH, numberOf(node["maxItems"]) ?? USUAL_LENGTH);
    const length = Math.max(most, numberOf(node["minItems"]) ?? 0);
    return { ...inner, minItems: length, maxItems: length };
  }
  if (typeof node["pattern"] !== "string") return inner;
  const { minLength, maxLength, ...rest } = inner;
  return { ...rest, lengths: [minLength, maxLength] };
}

function repeated(text: string, schema: SchemaNode): string {
  const [minLength, maxLength] = schema["lengths"] as readonly unknown[];
  const least = Math.min(LONGEST_PATTERN, numberOf(minLength) ?? 0);
  const enough = text.repeat(Math.max(1, Math.ceil(least / Math.max(1, text.length))));
  return enough.slice(0, Math.max(least, numberOf(maxLength) ?? enough.length));
}

function isWithin(value: number, schema: SchemaNode): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  return (
    value >= (numberOf(minimum) ?? value) &&
    value <= (numberOf(maximum) ?? value) &&
    value > (numberOf(exclusiveMinimum) ?? value - 1) &&
    value < (numberOf(exclusiveMaximum) ?? value + 1) &&
    value % (numberOf(multipleOf) ?? 1) === 0
  );
}

function attempt(schema: SchemaNode, ports: Ports): JsonAnswer {
  const open = withUsualLengths(schema) as JsonSchema;
  // The validator is never shared, because the time limit may interrupt it at any point.
  const ajv = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 6, meta: false, validateSchema: false });
  formatsPlugin.default(ajv);
  const fits = ajv.compile(schema);
  const suit = (made: unknown, node: JsonSchema, pointer: string) => suited(made, node, pointer, ports);
  for (let tries = 0; tries < ATTEMPTS; tries++) {
    const value = generateSync(open, {
      seed: Math.floor(ports.random() * 2 ** 31),
      maxDepth: DEEPEST,
      refDepthMax: 3,
      alwaysFakeOptionals: tries % 2 === 0,
      optionalsProbability: 0,
      failOnInvalidTypes: true,
      ...(tries < ATTEMPTS / 2 && { outputTransform: suit }),
    });
    const verdict = judged(value, ports);
    if (fits(verdict)) return { is: "value", value: verdict };
    if (fits(value)) return { is: "value", value };
  }
  return { is: "impossible", reason: "no value that matches the schema was found" };
}

function reasonOf(error: unknown): string {
  if (error instanceof TookTooLong) return `answering it ${error.message}`;
  const reason = error instanceof Error ? error.message : String(error);
  return `the JSON Schema cannot be used: ${reason.slice(0, 300)}`;
}

export function jsonAnswer(schema: SchemaNode, ports: Ports): JsonAnswer {
  try {
    return withinTime(MAX_MS, () => attempt(prepareSchema(schema), ports));
  } catch (error) {
    return { is: "impossible", reason: reasonOf(error) };
  }
}

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

interface Place {
  readonly name: string;
  readonly index: number;
}

function placeOf(pointer: string): Place {
  const parts = pointer.split("/").slice(1);
  const isPosition = (part: string) => /^\d+$/.test(part);
  return { name: parts.findLast((part) => !isPosition(part)) ?? "", index: Number(parts.findLast(isPosition) ?? 0) };
}

const TEXTS: readonly (readonly [words: string, write: (index: number) => string])[] = [
  ["id slug key handle", (index) => `item-${index + 1}`],
  ["ratio", () => "16:9"],
  ["language lang locale", () => "en"],
  ["color colour", (index) => `#${["1f6feb", "f2a33a", "2e8b57", "b5432e"][index % 4]}`],
  ["url link href", (index) => `https://example.com/item-${index + 1}`],
];

export function wordsOf(name: string): readonly string[] {
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return spaced.split(/[^a-z]+/).flatMap((word) => [word, word.replace(/s$/, "")]);
}

function likelyText(schema: SchemaNode, { name, index }: Place, text: SimulatedText): string {
  const words = new Set(wordsOf(name));
  const write = TEXTS.find(([known]) => known.split(" ").some((word) => words.has(word)))?.[1] ?? text;
  const written = write(index);
  return fitted(written, numberOf(schema["minLength"]) ?? 0, numberOf(schema["maxLength"]) ?? written.length);
}

function fitted(text: string, least: number, most: number): string {
  const enough = `${text} `.repeat(Math.ceil(least / text.length) || 1).trimEnd();
  const characters = [...enough];
  if (characters.length <= Math.max(least, most)) return enough;
  const cut = characters.slice(0, most).join("");
  const atWord = cut.replace(/\s+\S*$/u, "").trim();
  return [...atWord].length >= Math.max(1, least) ? atWord : cut;
}

function likelyNumber({ name, index }: Place): number | null {
  const words = new Set(wordsOf(name));
  const has = (...all: readonly string[]) => all.some((word) => words.has(word));
  if (has("ms", "millisecond")) return 3000 + 1000 * (index % 3);
  if (has("second", "duration", "length")) return 3 + (index % 3);
  if (has("year")) return 2026;
  if (has("count", "total", "number")) return 3;
  return has("index", "order", "shot", "scene") ? index + 1 : null;
}

function namedOption(schema: SchemaNode, requested: string): string | undefined {
  const padded = ` ${requested.replaceAll(/[^\p{L}\p{N}:_-]+/gu, " ")} `;
  return [schema["enum"]].flat().find((option): option is string => {
    return typeof option === "string" && option.length > 1 && padded.includes(` ${option} `);
  });
}

export type SchemaNode = Readonly<Record<string, unknown>>;

const MAX_SEARCHED = 200_000;
const MAX_STARTS = 50;

function endOf(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const mark = text[at]!;
    if (mark === "\\" && quoted) at += 1;
    else if (mark === '"') quoted = !quoted;
    else if (!quoted && "{[".includes(mark)) depth += 1;
    else if (!quoted && "}]".includes(mark) && --depth === 0) return at + 1;
  }
  return -1;
}

function split(whole: string): { readonly objects: readonly SchemaNode[]; readonly around: string } {
  const text = whole.slice(0, MAX_SEARCHED);
  const objects: SchemaNode[] = [];
  let around = "";
  let [rest, from] = [0, 0];
  for (let starts = 0; starts < MAX_STARTS; starts++) {
    const start = text.indexOf("{", from);
    if (start < 0) break;
    const end = endOf(text, start);
    const value = end < 0 ? null : parsed(text.slice(start, end));
    from = start + 1;
    if (!isRecord(value)) continue;
    objects.push(value);
    around += `${text.slice(rest, start)} `;
    rest = end;
    from = end;
  }
  return { objects, around: around + text.slice(rest) };
}

export const withoutJson = (text: string): string => split(text).around;

function isSchema({ $schema, $defs, type, properties, ...rest }: SchemaNode): boolean {
  if (typeof $schema === "string" || isRecord($defs)) return true;
  return (type === "object" && isRecord(properties)) || (type === "array" && "items" in rest);
}

function schemaOfExample(example: unknown): SchemaNode {
  if (Array.isArray(example)) {
    return { type: "array", items: example.length > 0 ? schemaOfExample(example[0]) : {}, minItems: 1 };
  }
  if (isRecord(example)) {
    return closedObject(Object.entries(example).map(([name, value]) => [name, schemaOfExample(value)]));
  }
  if (typeof example === "number") return { type: Number.isInteger(example) ? "integer" : "number" };
  return { type: example === null ? "string" : typeof example };
}

function closedObject(properties: readonly (readonly [string, SchemaNode])[]): SchemaNode {
  const required = properties.map(([name]) => name);
  return { type: "object", properties: Object.fromEntries(properties), required, additionalProperties: false };
}

export function schemaInText(text: string): SchemaNode | null {
  const { objects } = split(text);
  const schema = objects.find(isSchema);
  if (schema) return schema;
  const example = objects.findLast((node) => Object.keys(node).length > 0);
  return example && /json/i.test(text) ? schemaOfExample(example) : null;
}

const NAME = "[\"'`“]([A-Za-z_]\\w{0,40})[\"'`”]";
const LIST = new RegExp(
  `\\b(?:array|list)\\s+(?:(?:called|named|under|in|at)\\s+)?${NAME}|${NAME}\\s+(?:array|list)\\b`,
);
const NUMERIC = /_ms$|seconds|duration|count|number|index|score|year|width|height/i;

/**
 * Returns the shape that a prompt describes in words, as in `an array "shots" of objects with "prompt" and
 * "duration_ms"`.
 */
export function describedShape(text: string): SchemaNode {
  const short = text.slice(0, 20_000);
  const [, before, after] = LIST.exec(short) ?? [];
  const list = before ?? after;
  const named = [...short.matchAll(new RegExp(NAME, "g"))].map(([, name = ""]) => name);
  const fields = [...new Set(named)].filter((name) => name !== list);
  const object = closedObject(fields.map((name) => [name, { type: NUMERIC.test(name) ? "integer" : "string" }]));
  if (list === undefined) return fields.length > 0 ? object : closedObject([["answer", { type: "string" }]]);
  return closedObject([[list, { type: "array", items: fields.length > 0 ? object : { type: "string" }, minItems: 1 }]]);
}
