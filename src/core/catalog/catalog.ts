import { builtInFamilies, type Families, OURS } from "../families/index.ts";
import type { Catalog, CatalogModel, FieldProblem, JsonSchema } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { isSchema, localRef } from "../plan/schema.ts";
import { applicableRules, combinationProblems } from "./combination-table.ts";
import { compile, type Validate } from "./validate/ajv.ts";
import { explain } from "./validate/explain.ts";
import { familyProblems } from "./validate/family-rules.ts";

/** Creates a catalog. `otherIds` are ids of models that are not in `models`, used only for suggestions. */
export function catalogOf(
  models: readonly CatalogModel[],
  otherIds: readonly string[] = [],
  families: Families = builtInFamilies,
  { advice, lacksChat }: Pick<Catalog, "advice" | "lacksChat"> = { advice: () => null, lacksChat: () => false },
): Catalog {
  const byId = new Map(models.map((model) => [model.id, model]));
  const live = models.filter(({ state }) => state === "live").map(({ id }) => id);
  const ids = [...new Set([...live, ...otherIds])];
  return {
    model: (id) => byId.get(id) ?? null,
    ids: () => ids,
    models: () => [...byId.values()],
    family: (id) => families.of(id),
    advice,
    lacksChat,
    check: (model, input, pending = []) => checkAll(model, input, { pending, families }),
  };
}

export function withFamilies(catalog: Catalog, families: Families): Catalog {
  return catalogOf(catalog.models(), catalog.ids(), families, catalog);
}

function checkAll(
  model: CatalogModel,
  input: Json,
  { pending, families }: { readonly pending: readonly string[]; readonly families: Families },
): readonly FieldProblem[] {
  const found = validateInput(model, input);
  const fields = new Set(
    found.flatMap(({ field, code, allowed }) => [field, ...(code === "choice" ? namesIn(allowed) : [])]),
  );
  const free = new Set([...fields].flatMap((field) => /^input\.([^.[]+)/.exec(field)?.[1] ?? []));
  return [
    ...found,
    ...combinationProblems(model, input, { pending, free }),
    ...familyProblems(model.inputSchema, input, applicableRules(model.inputSchema, families.of(model.id)))
      .filter(({ field }) => !fields.has(field))
      .map((problem) => ({ ...problem, message: `${problem.message} (${OURS})` })),
  ];
}

function namesIn(allowed: readonly string[] = []): readonly string[] {
  return allowed.flatMap((names) => names.split(" and ")).map((name) => `input.${name}`);
}

export interface ModelAnswer {
  readonly id: string;
  readonly modality: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: Readonly<Record<string, unknown>> | null;
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
}

export function described(answer: ModelAnswer): CatalogModel {
  const { id, name, description, priceDescription } = answer;
  const modality = answer.modality ?? "";
  return {
    id,
    modality,
    name,
    description,
    priceDescription,
    inputSchema: (answer.inputSchema ?? {}) satisfies JsonSchema,
    outputSchema: (answer.outputSchema ?? {}) satisfies JsonSchema,
    state: ["image", "video", "audio"].includes(modality) ? "live" : "unknown",
  };
}

type Compiled = { readonly schema: JsonSchema; readonly validate: Validate } | { readonly defect: string };

const compiled = new WeakMap<JsonSchema, Compiled>();
/** Compiled schemas, keyed by JSON text because rereading a catalog creates new schema objects. */
const compiledByText = new Map<string, Compiled>();
const MAX_KEPT = 500;

export function validateInput(model: Pick<CatalogModel, "id" | "inputSchema">, input: Json): readonly FieldProblem[] {
  try {
    const created = compiledOf(model.inputSchema);
    if ("defect" in created) return [defective(model.id, created.defect)];
    return explain(created.validate(input), created.schema);
  } catch (error) {
    return [defective(model.id, describedBy(error))];
  }
}

function compiledOf(inputSchema: JsonSchema): Compiled {
  const known = compiled.get(inputSchema);
  if (known !== undefined) return known;
  const text = JSON.stringify(inputSchema);
  const created = compiledByText.get(text) ?? compileOnce(inputSchema);
  compiled.set(inputSchema, created);
  if (compiledByText.size >= MAX_KEPT) compiledByText.clear();
  compiledByText.set(text, created);
  return created;
}

function compileOnce(inputSchema: JsonSchema): Compiled {
  try {
    const schema = prepareSchema(inputSchema);
    return { schema, validate: compile(schema) };
  } catch (error) {
    return { defect: describedBy(error) };
  }
}

function defective(id: string, defect: string): FieldProblem {
  const message = `the input schema of ${id} cannot be used (${defect}), so inputs cannot be checked; choose another model`;
  return { code: "model-schema", field: "model", message };
}

function describedBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const compiledValues = new WeakMap<JsonSchema, Validate>();
const MAX_TOLD = 20;

/** Returns one message for each problem, such as `/scenes/0/prompt must be string`. */
export function valueProblems(schema: JsonSchema, value: Json): readonly string[] {
  const validate = compiledValues.get(schema) ?? compile(prepareSchema(schema));
  compiledValues.set(schema, validate);
  const mistakes = validate(value).map(({ instancePath, message, params }) => {
    const extra = "additionalProperty" in params ? ` (${JSON.stringify(params.additionalProperty)})` : "";
    const allowed = "allowedValues" in params ? ` (${JSON.stringify(params.allowedValues)})` : "";
    return `${instancePath === "" ? "the answer" : instancePath} ${message ?? "is wrong"}${extra}${allowed}`;
  });
  return [...new Set(mistakes)].slice(0, MAX_TOLD);
}

const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SINGLE = new Set([
  "items",
  "additionalItems",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
]);
/** Keywords that are removed from schemas. They identify or describe a schema, but do not limit values. */
const DROPPED = new Set(["$schema", "$id", "$anchor", "$comment"]);

const MAX_NODES = 5_000;

/** Prepares a schema for compiling: where possible, replaces its references with what they refer to. */
function prepareSchema(root: JsonSchema): JsonSchema {
  if (countParts(root, MAX_NODES) > MAX_NODES) throw new Error(`it has more than ${MAX_NODES} nodes`);
  const unfolding = new Unfolding(root, MAX_NODES);
  const unfolded = unfolding.schema(root, [root]);
  const schema = unfolding.isTooLarge ? new Unfolding(root, 0).schema(root, []) : unfolded;
  // The validator needs an id to resolve "#".
  return { $id: "showrunner:input", ...schema };
}

function countParts(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return 0;
  let found = Array.isArray(value) ? 0 : 1;
  for (const inner of Object.values(value)) {
    if (found > most) return found;
    found += countParts(inner, most - found);
  }
  return found;
}

class Unfolding {
  isTooLarge = false;
  readonly #root: JsonSchema;
  readonly #maxNodes: number;
  #nodes = 0;

  constructor(root: JsonSchema, maxNodes: number) {
    this.#root = root;
    this.#maxNodes = maxNodes;
  }

  schema(schema: JsonSchema, within: readonly JsonSchema[]): JsonSchema {
    this.#nodes += 1;
    if (this.#maxNodes > 0 && this.#nodes > this.#maxNodes) this.isTooLarge = true;
    if (this.isTooLarge) return schema;
    const target = this.#maxNodes === 0 ? null : localRef(this.#root, schema.$ref);
    if (target === null || within.includes(target)) return this.#members(schema, within);
    const { $ref: _, ...beside } = schema;
    const unfolded = this.schema(target, [...within, target]);
    const members = this.#members(beside, within);
    const clash = Object.keys(members).some((key) => key in unfolded && typeof members[key] !== "string");
    return clash ? { allOf: [unfolded, members] } : { ...unfolded, ...members };
  }

  #members(schema: JsonSchema, within: readonly JsonSchema[]): JsonSchema {
    const entries: [string, unknown][] = [];
    for (const [key, value] of Object.entries(schema)) {
      if (!DROPPED.has(key)) entries.push([key, this.#member(key, value, within)]);
    }
    return Object.fromEntries(entries);
  }

  #member(key: string, value: unknown, within: readonly JsonSchema[]): unknown {
    const itemOf = (item: unknown) => (isSchema(item) ? this.schema(item, within) : item);
    if (key === "discriminator" && isSchema(value)) return { propertyName: value.propertyName };
    if (NAMED.has(key) && isSchema(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, itemOf(item)]));
    }
    if (Array.isArray(value)) return LISTS.has(key) || key === "items" ? value.map(itemOf) : value;
    return SINGLE.has(key) ? itemOf(value) : value;
  }
}
