import type { Families, FamilyRule } from "../../families/index.ts";
import { type FieldProblem, notFound, problem, refuse } from "../http/refusal.ts";
import { compileSchema } from "../validate/ajv.ts";
import { type FamilyCheck, familyCheck } from "../validate/family-rules.ts";
import { toProblems } from "../validate/problems.ts";
import { TookTooLong, withinTime } from "../validate/time-limit.ts";
import type { JsonSchema, Modality, ModelDefinition, StockVoice } from "./model.ts";

/** Validates an input and fills its defaults in place. */
export type InputCheck = (input: unknown) => readonly FieldProblem[];

/** A model with its compiled schema. */
export interface CompiledModel extends ModelDefinition {
  readonly check: InputCheck;
  /** Rules of the model's family that its schema does not state; applied before defaults are filled. */
  readonly checkFamily: FamilyCheck;
  /** Set when the schema does not compile; requests for the model are then refused as unsupported, with this reason. */
  readonly defect: string | null;
}

function prepareCheck(
  model: ModelDefinition,
  rules: readonly FamilyRule[],
): Pick<CompiledModel, "check" | "checkFamily" | "defect"> {
  try {
    const { validate, isLinear } = compileSchema(model.entry.input_schema);
    const now: InputCheck = (input) => (validate(input) ? [] : toProblems(validate.errors ?? [], "input"));
    const check: InputCheck = isLinear ? now : (input) => checkInTime(() => now(input));
    return { check, checkFamily: familyCheck(model.entry.input_schema, rules), defect: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const nothing = { check: () => [], checkFamily: () => [] };
    return { ...nothing, defect: `The input schema of ${model.entry.id} does not compile: ${reason}` };
  }
}

/** Limit of processor time, in milliseconds, for validating by a schema without a linear bound; see `withinTime`. */
const MAX_CHECK_MS = 100;

function checkInTime(check: () => readonly FieldProblem[]): readonly FieldProblem[] {
  try {
    return withinTime(MAX_CHECK_MS, check);
  } catch (error) {
    if (!(error instanceof TookTooLong)) throw error;
    return [problem("input", "takes too long to check against the schema of this model", "deadline")];
  }
}

/** Never throws: a schema that does not compile disables this one model. */
export function compileModel(model: ModelDefinition, rules: readonly FamilyRule[]): CompiledModel {
  return { ...model, ...prepareCheck(model, rules) };
}

/** The models that this service offers. */
export interface Catalog {
  /** Usable models, in catalog order. */
  list(modality: Modality | null): readonly CompiledModel[];
  /** @throws Refusal 404, 410, 400 */
  use(modelId: string): CompiledModel;
  /** In any state, for jobs accepted earlier. */
  find(modelId: string): CompiledModel | undefined;
  stockVoice(voiceId: string): StockVoice | undefined;
  /** Why models of this catalog are disabled. */
  readonly defects: readonly string[];
}

export function createCatalog(definitions: readonly ModelDefinition[], families: Families): Catalog {
  const rulesOf = (id: string) => families.of(id)?.rules ?? [];
  const models = new Map(definitions.map((one) => [one.entry.id, compileModel(one, rulesOf(one.entry.id))]));
  const advice = new Map(definitions.flatMap((one) => [...levelIds(one), ...Object.entries(one.oldIds)]));
  const voices = new Map(definitions.flatMap((definition) => definition.voices.map((voice) => [voice.voiceId, voice])));
  const usable = [...models.values()].filter((model) => model.state.is === "live" && model.defect === null);

  return {
    list: (modality) => (modality === null ? usable : usable.filter((model) => model.entry.modality === modality)),
    use(modelId) {
      const model = models.get(modelId);
      if (!model) throw notFound(advice.get(modelId) ?? "There is no such model in the catalog.");
      assertUsable(model);
      return model;
    },
    find: (modelId) => models.get(modelId),
    stockVoice: (voiceId) => voices.get(voiceId),
    defects: [...models.values()].flatMap((model) => model.defect ?? []),
  };
}

/** Legacy ids with the level in their name, such as `video-1-pro`, from before `quality` existed. */
function levelIds({ entry }: ModelDefinition): readonly (readonly [string, string])[] {
  const schema = entry.input_schema as { readonly properties?: { readonly [name: string]: JsonSchema } } | null;
  const levels = schema?.properties?.["quality"]?.["enum"];
  if (!Array.isArray(levels)) return [];
  return levels.map((level: unknown) => [`${entry.id}-${level}`, `Use ${entry.id} with quality ${level}.`] as const);
}

function assertUsable({ state, defect, entry }: CompiledModel): void {
  if (state.is === "retired") {
    const successor = state.replacedBy === null ? {} : { replaced_by: state.replacedBy };
    const fixedMessage = "This model is retired.";
    throw refuse("GONE", `The model ${entry.id} is retired.`, { ...successor, fixedMessage });
  }
  const fixedMessage = "This model is not supported on v3 yet.";
  if (state.is === "unsupported") throw refuse("FAILED_PRECONDITION", state.message, { fixedMessage });
  if (defect !== null) throw refuse("FAILED_PRECONDITION", defect, { fixedMessage });
}
