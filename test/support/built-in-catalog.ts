import { type Catalog, type CatalogModel, catalogOf, type JsonSchema } from "../../src/core/catalog/index.ts";
import { BUILT_IN_MODELS } from "../../src/local-service/catalog/builtin/index.ts";
import { PUBLISHED_MODELS } from "../../src/local-service/catalog/builtin/published.ts";
import type { ModelDefinition } from "../../src/local-service/catalog/model.ts";

/** The catalog of the local service's models, without a service. */
export function builtInCatalog(): Catalog {
  return catalogWith(BUILT_IN_MODELS);
}

/** Like {@link builtInCatalog}, without models of hosted services: few models, one of each kind. */
export function ownCatalog(): Catalog {
  return catalogWith(BUILT_IN_MODELS.filter((model) => !PUBLISHED_MODELS.includes(model)));
}

function catalogWith(definitions: readonly ModelDefinition[]): Catalog {
  const models = definitions.map(({ entry, state }): CatalogModel => {
    const { id, modality, name, description } = entry;
    const base = { id, modality, name, description, priceDescription: entry.price_description };
    const schemas = {
      inputSchema: entry.input_schema as JsonSchema,
      outputSchema: entry.output_schema as JsonSchema,
    };
    if (state.is === "live") return { ...base, ...schemas, state: "live" };
    if (state.is === "unsupported") return { ...base, ...schemas, state: "unsupported", message: state.message };
    return {
      ...base,
      ...schemas,
      state: "retired",
      ...(state.replacedBy !== null && { replacedBy: state.replacedBy }),
    };
  });
  return catalogOf(models);
}
