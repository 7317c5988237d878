import { builtInFamilies, type Families, OURS } from "../families/index.ts";
import type { Catalog, CatalogModel, FieldProblem, JsonSchema } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { applicableRules, combinationProblems } from "./combination-table.ts";
import { familyProblems } from "./validate/family-rules.ts";
import { validateInput } from "./validate/validate.ts";

/** `otherIds` are the ids of more models, used only for suggestions. */
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
