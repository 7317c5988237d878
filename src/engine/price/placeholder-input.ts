import { greyPng, plainWav } from "../../placeholder-media.ts";
import { traitsOf } from "../../plan/index.ts";
import type { JobStep, Json, MediaKind, PlanStep, Reference } from "../../plan/plan.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "./estimates.ts";
import { sampleValue } from "./sample-value.ts";

/** Always the same, so made once. */
let picture: Uint8Array | null = null;

/**
 * A tiny valid file of a kind, to price a job whose media do not exist yet: a grey picture, or silence of the expected
 * length. Null for video, which no few lines can make.
 */
export function placeholder(kind: MediaKind, expected: { readonly durationMs: number }): Uint8Array | null {
  switch (kind) {
    case "image":
      picture ??= greyPng(512);
      return picture;
    case "audio":
      return plainWav(expected.durationMs);
    case "video":
      return null;
    default:
      return kind satisfies never;
  }
}

type Ref = Reference["$ref"];

/** What speech is expected to last, for want of the speech itself. */
const MS_PER_CHARACTER = 70;
const GUESSED_MS = 5000;

export interface PlaceholderSources {
  readonly step: (path: string) => PlanStep | undefined;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
}

/** What takes the place of a result that does not exist yet, in an input whose price is asked; null when nothing can. */
export async function placeholderInput(
  step: Pick<JobStep, "model">,
  ref: Ref,
  sources: PlaceholderSources,
): Promise<Json | null> {
  const source = sources.step(ref.step);
  if (source === undefined) return null;
  const { file } = traitsOf(source);
  if (file !== null) return { source: "upload", sha256: file.sha256 };
  if (ref.as === "value") return sampleOf(source, ref, sources);
  if (ref.as === "voice") return sources.estimates.anyVoice(step.model);
  if (ref.kind === undefined) return null;
  const bytes = placeholder(ref.kind, { durationMs: lengthOf(source, sources) });
  if (bytes === null) return null;
  const { sha256 } = await sources.media.put({ bytes });
  const media: Json = { source: "upload", sha256 };
  const outputs = "outputs" in source ? source.outputs : 1;
  return ref.output === "all" ? Array.from({ length: outputs }, () => media) : media;
}

/** A value of the right shape where a schema tells it, else text. */
function sampleOf(source: PlanStep, ref: Ref, sources: PlaceholderSources): Json {
  const schema = "schema" in source && source.schema !== null ? source.schema : chosenSchema(source, sources);
  const value = sampleValue(schema, ref.at);
  return ref.output === "all" && !Array.isArray(value) ? [value] : value;
}

function chosenSchema(source: PlanStep, { step }: PlaceholderSources): Json {
  const first = firstOf(source, step);
  return first !== undefined && "schema" in first && first.schema !== null ? first.schema : true;
}

/** A pick or an approval is expected to stand for the first of what it has. */
function firstOf(source: PlanStep, stepAt: PlaceholderSources["step"]): PlanStep | undefined {
  const [first] = traitsOf(source).standsFor;
  if (first === undefined) return undefined;
  const found = stepAt(first.$ref.step);
  return found === undefined ? undefined : (firstOf(found, stepAt) ?? found);
}

function lengthOf(source: PlanStep, { step }: PlaceholderSources): number {
  const produced = firstOf(source, step) ?? source;
  const { submits } = traitsOf(produced);
  if (submits === null) return GUESSED_MS;
  const input = submits.input as { readonly text?: Json; readonly duration_ms?: Json };
  if (typeof input.duration_ms === "number") return input.duration_ms;
  return typeof input.text === "string" ? Math.max(1000, input.text.length * MS_PER_CHARACTER) : GUESSED_MS;
}
