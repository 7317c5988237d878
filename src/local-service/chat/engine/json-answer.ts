import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { generateSync, type JsonSchema } from "json-schema-faker";
import { TookTooLong, withinTime } from "../../../core/kit/time-limit.ts";
import { isRecord } from "../../json.ts";
import type { Random } from "../../render/random.ts";
import type { SchemaNode } from "./json-text.ts";

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

export type JsonAnswer =
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
  const reasons = black.map((number) => `picture ${number} is black`);
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

/** Makes generated lists three elements long where their bounds allow it. */
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
    const said = judged(value, ports);
    if (fits(said)) return { is: "value", value: said };
    if (fits(value)) return { is: "value", value };
  }
  return { is: "impossible", reason: "no value that matches the schema was found" };
}

function reasonOf(error: unknown): string {
  if (error instanceof TookTooLong) return `answering it ${error.message}`;
  const reason = error instanceof Error ? error.message : String(error);
  return `the JSON Schema is not usable: ${reason.slice(0, 300)}`;
}

export function jsonAnswer(schema: SchemaNode, ports: Ports): JsonAnswer {
  try {
    return withinTime(MAX_MS, () => attempt(prepareSchema(schema), ports));
  } catch (error) {
    return { is: "impossible", reason: reasonOf(error) };
  }
}

export const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

export interface Place {
  readonly name: string;
  readonly index: number;
}

export function placeOf(pointer: string): Place {
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
