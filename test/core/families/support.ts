import { type Catalog, type CatalogModel, catalogOf, type JsonSchema } from "../../../src/core/catalog/index.ts";
import { type FamilyInput, readFamilies } from "../../../src/core/families/index.ts";
import { BUILT_IN_MODELS } from "../../../src/local-service/catalog/builtin/index.ts";

const described = BUILT_IN_MODELS.find(({ entry }) => entry.id === "video-1")!.entry.input_schema;
const { multi_prompt, ...others } = described["properties"] as { readonly [name: string]: JsonSchema };
const { max_total_duration_ms: _, ...shots } = multi_prompt!;

/** The fields of the API's example model, without the rules between them, which are only described in words. */
export const WORDS_ONLY: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["aspect_ratio", "duration_ms"],
  properties: { ...others, multi_prompt: shots },
};

export const film = { aspect_ratio: "16:9", duration_ms: 5000 };

/** A model in the form of a response to `GET /models/{model}`. */
export const entryOf = (id: string, input_schema: JsonSchema = WORDS_ONLY, modality = "video") => ({
  ...{ id, modality, name: id, description: "pro needs resolution; end_image needs start_image" },
  ...{ price_description: "", logo_url: null, input_schema },
});

/** A catalog with these models, as the planner uses it. */
export function catalogWith(
  entries: readonly ReturnType<typeof entryOf>[],
  families?: readonly FamilyInput[],
): Catalog {
  const models = entries.map(
    ({ id, modality, name, description, input_schema }): CatalogModel => ({
      ...{ id, modality, name, description, priceDescription: "", outputSchema: {}, state: "live" },
      inputSchema: input_schema,
    }),
  );
  return catalogOf(models, [], readFamilies(families));
}
