import type { JobStep, Json, PlanStep, Reference } from "../plan/plan.ts";
import type { EstimateCache } from "./estimates.ts";
import type { MediaStore } from "./media-store.ts";
import { placeholder } from "./placeholders.ts";
import { sampleValue } from "./sample-value.ts";

type Ref = Reference["$ref"];

/** What speech is expected to last, for want of the speech itself. */
const MS_PER_CHARACTER = 70;
const GUESSED_MS = 5000;

export interface PlaceholderSources {
  readonly steps: ReadonlyMap<string, PlanStep>;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
}

/** What takes the place of a result that does not exist yet, in an input whose price is asked; null when nothing can. */
export async function placeholderInput(step: JobStep, ref: Ref, sources: PlaceholderSources): Promise<Json | null> {
  const source = sources.steps.get(ref.step);
  if (source === undefined) return null;
  if (source.kind === "upload") return { source: "upload", sha256: source.file.sha256 };
  if (ref.as === "value") return sampleOf(source, ref, sources);
  if (ref.as === "voice") return sources.estimates.anyVoice(step.model);
  if (ref.kind === undefined) return null;
  const bytes = placeholder(ref.kind, { durationMs: lengthOf(source, sources) });
  if (bytes === null) return null;
  const { sha256 } = await sources.media.put({ bytes });
  const media: Json = { source: "upload", sha256 };
  const outputs = source.kind === "job" ? source.outputs : 1;
  return ref.output === "all" ? Array.from({ length: outputs }, () => media) : media;
}

/** A value of the right shape where a schema tells it, else text. */
function sampleOf(source: PlanStep, ref: Ref, sources: PlaceholderSources): Json {
  const schema = source.kind === "chat" && source.schema !== null ? source.schema : chosenSchema(source, sources);
  const value = sampleValue(schema, ref.at);
  return ref.output === "all" && !Array.isArray(value) ? [value] : value;
}

function chosenSchema(source: PlanStep, { steps }: PlaceholderSources): Json {
  const first = firstOf(source, steps);
  return first?.kind === "chat" && first.schema !== null ? first.schema : true;
}

/** A pick or an approval is expected to stand for the first of what it has. */
function firstOf(source: PlanStep, steps: ReadonlyMap<string, PlanStep>): PlanStep | undefined {
  const among = source.kind === "pick" ? source.among : source.kind === "approve" ? source.shows : [];
  const [first] = among;
  if (first === undefined) return undefined;
  const found = steps.get(first.$ref.step);
  return found === undefined ? undefined : (firstOf(found, steps) ?? found);
}

function lengthOf(source: PlanStep, { steps }: PlaceholderSources): number {
  const produced = firstOf(source, steps) ?? source;
  if (produced.kind !== "job") return GUESSED_MS;
  const input = produced.input as { readonly text?: Json; readonly duration_ms?: Json };
  if (typeof input.duration_ms === "number") return input.duration_ms;
  return typeof input.text === "string" ? Math.max(1000, input.text.length * MS_PER_CHARACTER) : GUESSED_MS;
}
