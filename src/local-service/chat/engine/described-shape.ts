import type { SchemaNode } from "./schema-node.ts";

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
