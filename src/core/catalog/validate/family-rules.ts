import type { FamilyCondition, FamilyRule } from "../../families/index.ts";
import { shown } from "../../kit/value-text.ts";
import type { FieldProblem, JsonSchema } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { applicable, isSchema, itemSchemas, suggestedValues } from "../../plan/schema.ts";
import { listed } from "./explain.ts";

type Fields = { readonly [name: string]: Json };

/** Checks an input against a family's rules. Rules about fields that the model lacks are ignored. */
export function familyProblems(
  schema: JsonSchema,
  input: unknown,
  rules: readonly FamilyRule[],
): readonly FieldProblem[] {
  if (!isSchema(input)) return [];
  const judge = new Judge(schema, input as Fields);
  return rules.flatMap((rule) => judge.problems(rule));
}

const fieldsOf = new WeakMap<JsonSchema, RuleFields>();

export function ruleFieldsOf(schema: JsonSchema): RuleFields {
  const fields = fieldsOf.get(schema) ?? new RuleFields(schema);
  fieldsOf.set(schema, fields);
  return fields;
}

class Judge {
  readonly #fields: RuleFields;
  readonly #input: Fields;

  constructor(schema: JsonSchema, input: Fields) {
    this.#fields = ruleFieldsOf(schema);
    this.#input = input;
  }

  problems(rule: FamilyRule): readonly FieldProblem[] {
    if (!this.#isExpressible(rule) || !this.#holds(rule.when)) return [];
    const say = (code: string, name: string, what: string): FieldProblem => ({
      code,
      field: `input.${name}`,
      message: `${what}: ${rule.message}`,
    });
    const among = (name: string) => {
      const accepted = acceptedOf(this.#fields.of(name));
      return accepted === null ? {} : { allowed: accepted.map(String) };
    };
    switch (rule.kind) {
      case "requires":
        return rule.fields
          .filter((name) => !this.#has(name))
          .map((name) => ({ ...say("required", name, "is required"), ...among(name) }));
      case "forbids":
        return rule.fields
          .filter((name) => this.#isGiven(name))
          .map((name) => say("exclusive", name, "is not allowed"));
      case "one_of":
        return this.#oneOf(rule.fields, say);
      case "values": {
        const value = this.#value(rule.field);
        if (value === undefined || includes(rule.values, value)) return [];
        const allowed = this.#allowed(rule).map(String);
        return [{ ...say("enum", rule.field, `${shown(value)} is not one of ${listed(allowed)}`), allowed }];
      }
      case "max_sum": {
        const sum = this.#sum(rule.field, rule.of);
        return sum > rule.max
          ? [say("max_sum", rule.field, `the values of ${rule.of} add up to ${sum}; at most ${rule.max} is allowed`)]
          : [];
      }
      default:
        return rule satisfies never;
    }
  }

  #oneOf(names: readonly string[], say: (code: string, name: string, what: string) => FieldProblem) {
    const given = names.filter((name) => this.#isGiven(name));
    if (given.length > 1) return [say("exclusive", given.at(-1)!, `is given with ${given.slice(0, -1).join(", ")}`)];
    return names.some((name) => this.#has(name))
      ? []
      : [say("required", names[0]!, `is missing; one of ${names.join(", ")} is required`)];
  }

  #isExpressible(rule: FamilyRule): boolean {
    const fields = "fields" in rule ? rule.fields : [rule.field];
    if (![...fields, ...(rule.when === undefined ? [] : [rule.when.field])].every((name) => this.#isField(name)))
      return false;
    if (rule.kind === "max_sum") return this.#fields.ofItems(rule.field, rule.of).length > 0;
    if (rule.kind !== "values") return true;
    return this.#allowed(rule).length > 0;
  }

  #allowed({ field, values }: Extract<FamilyRule, { readonly kind: "values" }>): readonly unknown[] {
    const accepted = acceptedOf(this.#fields.of(field));
    return accepted === null ? values : [...new Set(accepted)].filter((value) => includes(values, value));
  }

  #holds(when: FamilyCondition | undefined): boolean {
    if (when === undefined) return true;
    if (when.is === undefined) return this.#isGiven(when.field);
    const value = this.#value(when.field);
    return value !== undefined && includes(when.is, value);
  }

  #isField(name: string): boolean {
    return this.#fields.of(name).length > 0;
  }

  #isGiven(name: string): boolean {
    return Object.hasOwn(this.#input, name) && this.#input[name] !== null;
  }

  #has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  #value(name: string): unknown {
    return this.#isGiven(name) ? this.#input[name] : presetOf(this.#fields.of(name));
  }

  #sum(list: string, of: string): number {
    const items = this.#input[list];
    const preset = presetOf(this.#fields.ofItems(list, of));
    const numbers = (Array.isArray(items) ? items : []).map((item: unknown) =>
      isSchema(item) ? (item[of] ?? preset) : 0,
    );
    return numbers.reduce<number>((sum, value) => sum + (typeof value === "number" ? value : 0), 0);
  }
}

export function includes(values: readonly unknown[], value: unknown): boolean {
  const plain = (item: unknown) => (typeof item === "string" ? item.toLowerCase() : item);
  return values.some((item) => plain(item) === plain(value));
}

class RuleFields {
  readonly #root: JsonSchema;
  readonly #parts: readonly JsonSchema[];
  readonly #known = new Map<string, readonly JsonSchema[]>();

  constructor(schema: JsonSchema) {
    this.#root = schema;
    this.#parts = applicable(schema, schema);
  }

  of(name: string): readonly JsonSchema[] {
    return this.#once(name, () => this.#named(this.#parts, name));
  }

  ofItems(list: string, name: string): readonly JsonSchema[] {
    return this.#once(`${list}\n${name}`, () => {
      const items = itemSchemas(this.of(list), 0).flatMap((schema) => applicable(this.#root, schema));
      return this.#named(items, name);
    });
  }

  #once(key: string, find: () => readonly JsonSchema[]): readonly JsonSchema[] {
    const known = this.#known.get(key) ?? find();
    this.#known.set(key, known);
    return known;
  }

  #named(parts: readonly JsonSchema[], name: string): readonly JsonSchema[] {
    const schemas = parts.flatMap(({ properties }) =>
      isSchema(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
    );
    return schemas.filter(isSchema).flatMap((schema) => applicable(this.#root, schema));
  }
}

export function presetOf(schemas: readonly JsonSchema[]): unknown {
  return schemas.find((schema) => schema.default !== undefined && schema.default !== null)?.default;
}

export function acceptedOf(schemas: readonly JsonSchema[]): readonly unknown[] | null {
  if (schemas.some((schema) => suggestedValues(schema) !== null)) return null;
  const closed = schemas.filter((schema) => Array.isArray(schema.enum) || "const" in schema);
  return closed.length === 0 ? null : closed.flatMap((schema) => schema.enum ?? [schema.const]);
}
