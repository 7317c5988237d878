import type { FamilyCondition, FamilyRule } from "../../core/families/index.ts";
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

interface Row {
  readonly required: readonly string[];
  readonly omitted: readonly string[];
  readonly accepted: readonly (readonly [name: string, values: readonly string[]])[];
}

/** A model's table of accepted field combinations, compiled. */
export interface CombinationCheck {
  /** Refuses an input that matches no row. Applies to an input as it was sent, before defaults are filled. */
  readonly check: (input: Input) => readonly FieldProblem[];
  /** Lines of the table that are no row. A numbered one disables the table: an input may match just that row. */
  readonly unread: readonly string[];
}

/** Limit of the work that one request may cause. */
const MAX_ROWS = 500;

/** Reads the table from the schema's description; null where there is none. The planner has a reader of its own. */
export function combinationCheck(schema: JsonSchema): CombinationCheck | null {
  const lines = tableLines(schema["description"]);
  if (lines === null) return null;
  const parsed = lines.map((line, index) => ({ line, row: index < MAX_ROWS ? parseRow(line) : null }));
  const rows = parsed.flatMap(({ row }) => row ?? []);
  const unread = parsed.filter(({ row }) => row === null).map(({ line }) => line);
  const isDisabled = rows.length === 0 || unread.some((line) => /^\(\d+\)/.test(line));
  return { check: isDisabled ? () => [] : rowCheck(schema, rows), unread };
}

function tableLines(description: unknown): readonly string[] | null {
  if (typeof description !== "string") return null;
  const table: string[] = [];
  let isWithin = false;
  for (const line of description.split("\n").map((text) => text.trim())) {
    if (isWithin && line === "") break;
    if (isWithin) table.push(line);
    isWithin ||= /Accepted field combinations( \([^()]*\))?:$/.test(line);
  }
  return isWithin ? table : null;
}

const isName = (text: string) => /^\w[\w.-]*$/.test(text);
const parts = (text: string, separator: string) => text.split(separator).map((part) => part.trim());

/** `(N) requires: a, b; must omit: c; accepts d: 1 | 2; e: x`; null for anything else. */
function parseRow(line: string): Row | null {
  const number = /^\(\d+\) */.exec(line);
  if (number === null) return null;
  const clauses = line.slice(number[0].length).split(/; */);
  const required = names(clauses.shift()!, "requires:");
  const omitted = clauses[0]?.startsWith("must omit:") ? names(clauses.shift()!, "must omit:") : [];
  const accepted = parseAccepted(clauses);
  return required && omitted && accepted ? { required, omitted, accepted } : null;
}

function names(clause: string, word: string): readonly string[] | null {
  const list = clause.startsWith(word) ? parts(clause.slice(word.length), ",") : [""];
  return list.every(isName) ? list : null;
}

function parseAccepted(clauses: readonly string[]): Row["accepted"] | null {
  const [first, ...others] = clauses;
  if (first === undefined) return [];
  if (!first.startsWith("accepts ")) return null;
  const pairs = [first.slice("accepts ".length), ...others].map((clause) => {
    const [name = "", ...rest] = clause.split(":");
    return [name.trim(), parts(rest.join(":"), "|")] as const;
  });
  const isValid = pairs.every(([name, values]) => isName(name) && !values.includes(""));
  return isValid && new Set(pairs.map(([name]) => name)).size === pairs.length ? pairs : null;
}

function rowCheck(schema: JsonSchema, rows: readonly Row[]): CombinationCheck["check"] {
  const fields = schemaFields(schema);
  const isSent = (name: string, input: Input) => Object.hasOwn(input, name) && input[name] !== null;
  const valueIn = (name: string, input: Input) => (isSent(name, input) ? input[name] : fields.get(name)?.preset);

  /** What keeps a row from matching, by field. */
  function mismatches({ required, omitted, accepted }: Row, input: Input): readonly FieldProblem[] {
    const missing = required.filter((name) => valueIn(name, input) === undefined);
    const excess = omitted.filter((name) => isSent(name, input));
    const unaccepted = accepted.filter(([name, values]) => {
      const value = valueIn(name, input);
      return value !== undefined && !isAmong(String(value), values);
    });
    return [
      ...unaccepted.map(([name, values]) =>
        problem(`input.${name}`, `must be ${values.join(" or ")} in this combination`, "combination", values),
      ),
      ...excess.map((name) => problem(`input.${name}`, "must be omitted in this combination", "combination")),
      ...missing.map((name) => problem(`input.${name}`, "is required in this combination", "combination")),
    ];
  }

  return (input) => {
    const found = rows.map((row) => mismatches(row, input));
    return found.reduce((nearest, other) => (other.length < nearest.length ? other : nearest));
  };
}
