import type { Json } from "../plan/plan.ts";

/** A JSON Schema as the service publishes it. */
export type JsonSchema = { readonly [key: string]: Json };

/** A model as planning needs to know it. */
export interface CatalogModel {
  readonly id: string;
  readonly modality: "image" | "video" | "audio" | (string & {});
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /** `retired` and `unsupported` models cannot be submitted. */
  readonly state: "live" | "retired" | "unsupported";
  /** Why it is unsupported, as the service says. */
  readonly message?: string;
  readonly replacedBy?: string;
}

/** The models that a plan can be checked against. */
export interface Catalog {
  model(id: string): CatalogModel | null;
  ids(): readonly string[];
}

export function catalogOf(models: readonly CatalogModel[], otherIds: readonly string[] = []): Catalog {
  const byId = new Map(models.map((model) => [model.id, model]));
  const ids = [...new Set([...models.filter(({ state }) => state === "live").map(({ id }) => id), ...otherIds])];
  return { model: (id) => byId.get(id) ?? null, ids: () => ids };
}

/**
 * What a job of this model makes. A voice clone is an audio model that takes a sample and a name and no words; the
 * catalog has no word of its own for it.
 */
export function yieldsOf(model: CatalogModel): "image" | "video" | "audio" | "voice" {
  if (model.modality === "image") return "image";
  if (model.modality === "video") return "video";
  const fields = properties(model.inputSchema);
  const isClone = "name" in fields && "audio" in fields && !("text" in fields) && !("prompt" in fields);
  return isClone ? "voice" : "audio";
}

/** How many outputs one job of the model can have. */
export function maxOutputsOf(model: CatalogModel): number {
  const field = properties(model.inputSchema).num_outputs;
  if (field === undefined) return 1;
  const choices = Array.isArray(field.enum)
    ? field.enum.filter((item): item is number => typeof item === "number")
    : [];
  return choices.length > 0 ? Math.max(...choices) : typeof field.maximum === "number" ? field.maximum : 1;
}

export function properties(schema: JsonSchema): { readonly [name: string]: JsonSchema } {
  const found = schema.properties;
  return typeof found === "object" && found !== null && !Array.isArray(found)
    ? (found as { readonly [name: string]: JsonSchema })
    : {};
}

/** The media kind that a field takes, one reference or a list of them; null for other fields. */
export function mediaTypeOf(schema: JsonSchema | undefined): string | null {
  if (schema === undefined) return null;
  if (typeof schema.media_type === "string") return schema.media_type;
  const items = schema.items;
  return typeof items === "object" && items !== null && !Array.isArray(items) ? mediaTypeOf(items as JsonSchema) : null;
}
