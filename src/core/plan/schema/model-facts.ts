import type { CatalogModel, JsonSchema } from "../catalog-port.ts";
import type { DraftJson } from "../draft.ts";
import type { MediaKind } from "../plan.ts";
import { applicable, isSchema, propertySchemas } from "./schema.ts";

export function yieldsOf(model: CatalogModel): MediaKind | "voice" | null {
  switch (model.modality) {
    case "image":
    case "video":
      return model.modality;
    case "audio":
      return makesVoice(model) ? "voice" : "audio";
    default:
      return null;
  }
}

/** The catalog lists models that clone voices as audio, so this reads the schemas and the name. */
function makesVoice({ outputSchema, inputSchema, id, name }: CatalogModel): boolean {
  const voiceId = typesOf(outputSchema, "voice_id");
  const url = typesOf(outputSchema, "url");
  if (voiceId.length > 0 && !voiceId.includes("null")) return true;
  if (url.length > 0 && url.every((type) => type === "null")) return true;
  if (voiceId.length > 0 && voiceId.every((type) => type === "null")) return false;
  const fields = isSchema(inputSchema.properties) ? inputSchema.properties : {};
  if ("voice_id" in fields || "text" in fields || "prompt" in fields) return false;
  return ("audio" in fields && "name" in fields) || /voice.?clon|clon\w*.?voice/i.test(`${id} ${name ?? ""}`);
}

function typesOf(schema: JsonSchema, name: string): readonly unknown[] {
  const parts = propertySchemas(applicable(schema, schema), name).flatMap((part) => applicable(schema, part));
  return parts.flatMap(({ type, const: constant }) => {
    if (constant === null) return ["null"];
    return type === undefined ? [] : Array.isArray(type) ? type : [type];
  });
}

export function outputsOf(input: DraftJson, model: CatalogModel): number {
  const requested =
    typeof input === "object" && input !== null && "num_outputs" in input ? input.num_outputs : undefined;
  if (isCount(requested)) return requested;
  const presets = countSchemas(model).map((schema) => schema.default);
  return presets.find(isCount) ?? 1;
}

export function maxOutputsOf(model: CatalogModel): number | null {
  const schemas = countSchemas(model);
  if (schemas.length === 0) return 1;
  const bounds = schemas.flatMap(({ enum: values, const: constant, maximum }) => {
    const listed = [constant, ...(Array.isArray(values) ? values : [])].filter(isCount);
    return [...(listed.length > 0 ? [Math.max(...listed)] : []), ...(isCount(maximum) ? [maximum] : [])];
  });
  return bounds.length === 0 ? null : Math.min(...bounds);
}

export function mostSeed({ inputSchema }: CatalogModel): number | null {
  const schemas = propertySchemas(applicable(inputSchema, inputSchema), "seed");
  if (schemas.length === 0) return null;
  const bounds = schemas.flatMap(({ maximum }) => (isCount(maximum) ? [maximum] : []));
  return Math.min(Number.MAX_SAFE_INTEGER - 1, ...bounds);
}

function countSchemas({ inputSchema }: CatalogModel): readonly JsonSchema[] {
  return propertySchemas([inputSchema], "num_outputs").flatMap((schema) => applicable(inputSchema, schema));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}
