import type { FamilyCondition, FamilyRule } from "../../families/index.ts";
import type { JsonSchema } from "../catalog/model.ts";
import { type FieldProblem, problem } from "../http/refusal.ts";
import { isRecord, resolveReference } from "../json.ts";

/** The parts of a field's schema that family rules use. */
export interface SchemaField {
  /** Its default; undefined for none. */
  readonly preset: unknown;
  /** Accepted values; null where they are not enumerated. */
  readonly accepted: readonly unknown[] | null;
  /** The fields of a list's items. */
  readonly item: ReadonlyMap<string, SchemaField>;
}

/** Limits for recursive and very large schemas: the depth of lists, and the number of subschemas. */
const MAX_DEPTH = 2;
const MAX_PARTS = 200;

/** The fields that a schema names anywhere: directly, by reference, and in branches of choices and conditions. */
export function schemaFields(root: JsonSchema): ReadonlyMap<string, SchemaField> {
  return fieldsOf(root, [root], MAX_DEPTH);
}

function fieldsOf(root: JsonSchema, schemas: readonly unknown[], depth: number): ReadonlyMap<string, SchemaField> {
  const found = new Map<string, JsonSchema[]>();
  if (depth === 0) return new Map();
  for (const part of partsOf(root, schemas)) {
    const { properties } = part;
    for (const [name, own] of isRecord(properties) ? Object.entries(properties) : []) {
      if (isRecord(own)) found.set(name, [...(found.get(name) ?? []), ...partsOf(root, [own])]);
    }
  }
  return new Map([...found].map(([name, parts]) => [name, fieldOf(root, parts, depth)]));
}

function fieldOf(root: JsonSchema, parts: readonly JsonSchema[], depth: number): SchemaField {
  const closed = parts.filter((part) => Array.isArray(part["enum"]) || "const" in part);
  const items = parts.flatMap(({ prefixItems, items: rest }) => [
    (Array.isArray(prefixItems) ? prefixItems[0] : undefined) ?? rest,
  ]);
  return {
    preset: parts.map((part) => part["default"]).find((value) => value !== undefined && value !== null),
    accepted: closed.length === 0 ? null : closed.flatMap((part) => part["enum"] ?? [part["const"]]),
    item: fieldsOf(root, items, depth - 1),
  };
}

/** Schemas and all subschemas that may apply to the same value. */
function partsOf(root: JsonSchema, schemas: readonly unknown[]): readonly JsonSchema[] {
  const found = new Set<JsonSchema>();
  const left: unknown[] = [...schemas].reverse();
  while (left.length > 0 && found.size < MAX_PARTS) {
    const part = left.pop();
    if (!isRecord(part) || found.has(part)) continue;
    found.add(part);
    const { allOf, anyOf, oneOf, then: met, else: unmet, $ref: ref } = part;
    left.push(...[resolveReference(root, ref), allOf, anyOf, oneOf, met, unmet].flat().reverse());
  }
  return [...found];
}

type Input = Readonly<Record<string, unknown>>;
type Fields = ReadonlyMap<string, SchemaField>;

/** Checks an input as it was sent, before defaults are filled. */
export type FamilyCheck = (input: Input) => readonly FieldProblem[];

/**
 * Compiles the rules of a family for one schema. Rules that name a field which the schema lacks are omitted. The
 * planner implements the same rules separately, so that one mistake cannot hide on both sides.
 */
export function familyCheck(schema: JsonSchema, rules: readonly FamilyRule[]): FamilyCheck {
  const fields = schemaFields(schema);
  const ready = rules.filter((rule) => canBeMet(rule, fields));
  return (input) =>
    ready.filter(({ when }) => applies(when, input, fields)).flatMap((rule) => broken(rule, input, fields));
}

function canBeMet(rule: FamilyRule, fields: Fields): boolean {
  const named = "fields" in rule ? rule.fields : [rule.field];
  if (![...named, rule.when?.field ?? named[0]!].every((name) => fields.has(name))) return false;
  if (rule.kind === "max_sum") return fields.get(rule.field)!.item.has(rule.of);
  return rule.kind !== "values" || common(rule.values, fields.get(rule.field)!.accepted).length > 0;
}

/** The rule's values that the schema accepts, in the schema's spelling. */
function common(values: readonly unknown[], accepted: readonly unknown[] | null): readonly unknown[] {
  return accepted === null ? values : [...new Set(accepted)].filter((value) => isAmong(value, values));
}

function applies(when: FamilyCondition | undefined, input: Input, fields: Fields): boolean {
  if (when === undefined) return true;
  const value = valueSent(when.field, input, fields);
  return when.is === undefined ? isSent(when.field, input) : value !== undefined && isAmong(value, when.is);
}

function broken(rule: FamilyRule, input: Input, fields: Fields): readonly FieldProblem[] {
  const refuse = (name: string, what: string, reason: string, allowed: readonly string[] | null = null) =>
    problem(`input.${name}`, `${what}: ${rule.message}`, reason, allowed);
  switch (rule.kind) {
    case "requires": {
      const missing = rule.fields.filter((name) => valueSent(name, input, fields) === undefined);
      return missing.map((name) => refuse(name, "is required", "required", texts(fields.get(name)?.accepted)));
    }
    case "forbids":
      return rule.fields
        .filter((name) => isSent(name, input))
        .map((name) => refuse(name, "may not be given", "exclusive"));
    case "one_of": {
      const sent = rule.fields.filter((name) => isSent(name, input));
      if (sent.length > 1)
        return [refuse(sent.at(-1)!, `may not be given with ${sent.slice(0, -1).join(", ")}`, "exclusive")];
      const isMet = rule.fields.some((name) => valueSent(name, input, fields) !== undefined);
      return isMet ? [] : [refuse(rule.fields[0]!, `one of ${rule.fields.join(", ")} is required`, "required")];
    }
    case "values": {
      const value = valueSent(rule.field, input, fields);
      if (value === undefined || isAmong(value, rule.values)) return [];
      const allowed = texts(common(rule.values, fields.get(rule.field)?.accepted ?? null));
      return [refuse(rule.field, "is none of the accepted values", "enum", allowed)];
    }
    case "max_sum": {
      const total = sumOf(input[rule.field], rule.of, fields.get(rule.field)?.item.get(rule.of)?.preset);
      return total <= rule.max
        ? []
        : [refuse(rule.field, `has ${total} as the sum of ${rule.of}, at most ${rule.max} is allowed`, "max_sum")];
    }
    default:
      return rule satisfies never;
  }
}

const texts = (values: readonly unknown[] | null = null) => values?.map(String) ?? null;

/** Some clients send null for an omitted field. */
function isSent(name: string, input: Input): boolean {
  return Object.hasOwn(input, name) && input[name] !== null;
}

function valueSent(name: string, input: Input, fields: Fields): unknown {
  return isSent(name, input) ? input[name] : fields.get(name)?.preset;
}

function sumOf(list: unknown, of: string, preset: unknown): number {
  let total = 0;
  for (const item of Array.isArray(list) ? list : []) {
    const value =
      typeof item === "object" && item !== null && !Array.isArray(item) ? ((item as Input)[of] ?? preset) : 0;
    if (typeof value === "number") total += value;
  }
  return total;
}

/** Compares case-insensitively: `4K` and `4k` are one value. */
export function isAmong(value: unknown, list: readonly unknown[]): boolean {
  const folded = (one: unknown) => (typeof one === "string" ? one.toLowerCase() : one);
  return list.map(folded).includes(folded(value));
}
