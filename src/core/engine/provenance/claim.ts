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

/** As the mark says it, else as `source-type.ts` finds it in a plan. */
function sourceTypeOf({ mark, models, steps, made_by }: Manifest): DigitalSourceType | null {
  const said = mark !== undefined && "digital_source_type" in mark ? mark.digital_source_type : null;
  const known = sourceTypes.find((type) => said === type || said?.endsWith(`/${type}`));
  if (known !== undefined) return known;
  if (models.length === 0) return null;
  const media = mediaSteps(new Map(steps.map((step) => [step.path, step])), made_by.step);
  const isByModel = ({ model }: ManifestStep) => model !== null;
  if (!media.some(isByModel)) return null;
  return media.every((step) => isByModel(step) || step.chosen !== null) ? sourceTypes[0] : sourceTypes[1];
}

/** The step, and those whose pictures or sound are in what it makes. */
function mediaSteps(steps: ReadonlyMap<string, ManifestStep>, from: string): readonly ManifestStep[] {
  const found = new Set<ManifestStep>();
  const open = [from];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const step = steps.get(next);
    if (step === undefined || found.has(step)) continue;
    found.add(step);
    open.push(...mediaIn(step.input), ...(step.chosen === null ? [] : [step.chosen.step]));
  }
  return [...found];
}

function mediaIn(value: Json): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(mediaIn);
  const { step, sha256 } = value as { readonly [key: string]: Json };
  return typeof step === "string" && typeof sha256 === "string" ? [step] : Object.values(value).flatMap(mediaIn);
}
