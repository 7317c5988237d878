import type { JsonSchema } from "../catalog/model.ts";
import type { MediaRules } from "./media-rules.ts";

/** A media reference in an input, with its field's constraints. */
export interface MediaReference {
  /** Full path, such as `input.images[0]`. */
  readonly field: string;
  /** The top-level input field that contains it. */
  readonly topField: string;
  readonly value:
    | { readonly source: "url"; readonly url: string }
    | { readonly source: "asset"; readonly asset_id: string };
  readonly rules: MediaRules;
}

type Node = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const RULE = /^(media_type|role|max_|min_)/;

function ownRules(schema: Node): MediaRules {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => RULE.test(key)));
}

/** Resolves `#/…` references within the document; external ones contribute no constraints. */
function resolve(schema: unknown, root: JsonSchema, hops = 8): Node {
  if (!isRecord(schema)) return {};
  const ref = schema["$ref"];
  if (typeof ref !== "string" || hops === 0) return schema;
  const target = ref
    .split("/")
    .slice(1)
    .reduce<unknown>(
      (node, part) => (isRecord(node) ? node[part.replaceAll("~1", "/").replaceAll("~0", "~")] : null),
      root,
    );
  return { ...resolve(target, root, hops - 1), ...schema, $ref: undefined };
}

function asReference(value: Node): MediaReference["value"] | null {
  if (value["source"] === "url" && typeof value["url"] === "string") return { source: "url", url: value["url"] };
  if (value["source"] !== "asset" || typeof value["asset_id"] !== "string") return null;
  return { source: "asset", asset_id: value["asset_id"] };
}

/** All media references of a valid input, wherever its schema allows one. */
export function mediaReferences(schema: JsonSchema, input: Node): MediaReference[] {
  const found: MediaReference[] = [];

  function visit(node: unknown, value: unknown, field: string, topField: string, inherited: MediaRules): void {
    const here = resolve(node, schema);
    const rules = { ...inherited, ...ownRules(here) };
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(here["items"], item, `${field}[${index}]`, topField, rules);
      return;
    }
    if (!isRecord(value)) return;
    const isMedia = "media_type" in rules || isRecord(here["discriminator"]);
    const reference = isMedia ? asReference(value) : null;
    if (reference) found.push({ field, topField, value: reference, rules });
    else visitProperties(here, value, field, topField, rules);
  }

  function visitProperties(node: Node, value: Node, field: string, topField: string, rules: MediaRules): void {
    const properties = node["properties"];
    if (!isRecord(properties)) return;
    for (const [name, child] of Object.entries(value)) {
      if (Object.hasOwn(properties, name)) visit(properties[name], child, `${field}.${name}`, topField || name, rules);
    }
  }

  visitProperties(resolve(schema, schema), input, "input", "", {});
  return found;
}

/** The constraints of a top-level field, for checks over all of its media. */
export function rulesOfField(schema: JsonSchema, field: string): MediaRules {
  const properties = resolve(schema, schema)["properties"];
  return isRecord(properties) ? ownRules(resolve(properties[field], schema)) : {};
}
