import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { type Claim, type DigitalSourceType, type Ingredient, sourceTypes } from "../../core/marks/index.ts";
import { type Json, type Manifest, manifestSchema } from "../../index.ts";

const MOST_BYTES = 8 * 1024 * 1024;

export async function readManifest(path: string): Promise<Manifest | null> {
  const beside = `${path}.json`;
  try {
    const found = await stat(beside);
    if (!found.isFile() || found.size > MOST_BYTES) return null;
    const read = manifestSchema.safeParse(JSON.parse(await readFile(beside, "utf8")));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

export async function fileHash(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}

/**
 * Returns the facts for a file's content credentials. Prompts are left out, because a published signature cannot be
 * withdrawn.
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

function ingredientsOf({ path, kind, model, outputs, input }: Manifest["steps"][number]): readonly Ingredient[] {
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

function sourceTypeOf({ mark, digital_source_type: planned }: Manifest): DigitalSourceType | null {
  const kept = mark?.status === "kept" ? mark.digital_source_type : null;
  return sourceTypes.find((type) => kept === type || kept?.endsWith(`/${type}`)) ?? planned;
}
