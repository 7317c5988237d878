import { builtInFamilies, type Families } from "../families/index.ts";
import type { Catalog, CatalogModel, FieldProblem } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { familyProblems } from "./validate/family-rules.ts";
import { validateInput } from "./validate/validate.ts";

/**
 * A catalog of these models. `otherIds` are known to exist, but nothing else is known of them; they serve suggestions.
 * `families` is what is known beyond the models' schemas: what is built in, unless said otherwise.
 */
export function catalogOf(
  models: readonly CatalogModel[],
  otherIds: readonly string[] = [],
  families: Families = builtInFamilies,
): Catalog {
  const byId = new Map(models.map((model) => [model.id, model]));
  const live = models.filter(({ state }) => state === "live").map(({ id }) => id);
  const ids = [...new Set([...live, ...otherIds])];
  return {
    model: (id) => byId.get(id) ?? null,
    ids: () => ids,
    models: () => [...byId.values()],
    family: (id) => families.of(id),
    check: (model, input) => checkBoth(validateInput(model, input), model, input, families),
  };
}

/** The same models with other knowledge of their families: `readFamilies(file)`. */
export function withFamilies(catalog: Catalog, families: Families): Catalog {
  return catalogOf(catalog.models(), catalog.ids(), families);
}

/** What the schema says comes first; a rule of ours that says the same of the same field is not told again. */
function checkBoth(
  told: readonly FieldProblem[],
  model: CatalogModel,
  input: Json,
  families: Families,
): readonly FieldProblem[] {
  const family = families.of(model.id);
  if (family === null || family.rules.length === 0) return told;
  const fields = new Set(
    told.flatMap(({ field, code, allowed }) => [field, ...(code === "choice" ? namesIn(allowed) : [])]),
  );
  return [...told, ...familyProblems(model.inputSchema, input, family.rules).filter(({ field }) => !fields.has(field))];
}

/** The fields that a choice is between. */
function namesIn(allowed: readonly string[] = []): readonly string[] {
  return allowed.flatMap((names) => names.split(" and ")).map((name) => `input.${name}`);
}
