import type { Families } from "../../families/index.ts";
import { notFound, refuse } from "../http/refusal.ts";
import { type CompiledModel, compileModel } from "./compiled.ts";
import type { JsonSchema, Modality, ModelDefinition, StockVoice } from "./model.ts";

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
