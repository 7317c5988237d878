import { isRecord, parsed } from "../../json.ts";

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
