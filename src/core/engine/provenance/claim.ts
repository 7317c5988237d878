import { type Claim, type DigitalSourceType, type Ingredient, sourceTypes } from "../../marks/index.ts";
import type { Json } from "../../plan/plan.ts";
import type { Manifest, ManifestStep } from "./provenance-schema.ts";

/**
 * What a file's manifest has for its content credentials: models, run and step, and the media that led to it. Prompts stay out: what
 * is signed and published cannot be taken back. The source type is null where no model took part.
 */
export function claimOf(manifest: Manifest): Omit<Claim, "digitalSourceType"> & {
  readonly digitalSourceType: DigitalSourceType | null;
} {
  const { made_by, run, pipeline, models, steps } = manifest;
  return {
    digitalSourceType: sourceTypeOf(manifest),
    models,
    description: `Made by step ${made_by.step} of run ${run}, pipeline ${pipeline}`,
    ingredients: steps.filter(({ path }) => path !== made_by.step).flatMap(ingredientsOf),
  };
}

function ingredientsOf({ path, kind, model, outputs, input }: ManifestStep): readonly Ingredient[] {
  const how = kind === "upload" ? "Uploaded" : model === null ? "Made by a local function" : `Made with ${model}`;
  return outputs.flatMap(({ index, sha256, content_type }) => {
    if (sha256 === null || content_type === null) return [];
    const title = fileIn(input) ?? (index === 0 ? path : `${path} ${index + 1}`);
    return [{ title, contentType: content_type, sha256, description: `${how}: step ${path}` }];
  });
}

function fileIn(input: Json): string | null {
  if (typeof input !== "object" || input === null || !("file" in input)) return null;
  return typeof input.file === "string" ? input.file : null;
}

/** As the file says it itself, else as the run's plan does. */
function sourceTypeOf({ mark, digital_source_type: planned }: Manifest): DigitalSourceType | null {
  const kept = mark?.status === "kept" ? mark.digital_source_type : null;
  return sourceTypes.find((type) => kept === type || kept?.endsWith(`/${type}`)) ?? planned;
}
