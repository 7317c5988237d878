import { type Claim, type DigitalSourceType, type Ingredient, sourceTypes } from "../../marks/index.ts";
import type { Json } from "../../plan/plan.ts";
import type { Manifest, ManifestStep } from "./provenance-schema.ts";

/**
 * The statement that a file's content credentials sign: models, run, step and source media. Prompts are left out,
 * because a published signature cannot be withdrawn. The source type is null if no model took part.
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

/** The source type in the file itself, otherwise by the run's plan. */
function sourceTypeOf({ mark, digital_source_type: planned }: Manifest): DigitalSourceType | null {
  const kept = mark?.status === "kept" ? mark.digital_source_type : null;
  return sourceTypes.find((type) => kept === type || kept?.endsWith(`/${type}`)) ?? planned;
}
