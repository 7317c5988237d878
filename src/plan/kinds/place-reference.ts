import type { DraftAsset, DraftReference } from "../../define/draft.ts";
import type { MediaKind } from "../../define/media.ts";
import type { Json, Reference } from "../plan.ts";
import type { Placed, Spot } from "./job-input.ts";
import type { Planning, StepFacts } from "./kind.ts";

const NIL = "00000000-0000-4000-8000-000000000000";
/** Valid values of each kind, for the schema to look at in place of results that do not exist yet. */
export const STAND_IN_MEDIA: Json = { source: "asset", asset_id: `asset_${NIL}` };
const STAND_IN_VOICE = `voice_${NIL}`;

/** Stands in for so many outputs at most; more would say nothing new about the list around them. */
const MAX_SPREAD = 1000;

export function placeReference(ref: DraftReference["$ref"], spot: Spot, planning: Planning): Placed {
  spot.settle(spot.field);
  const source = planning.facts(ref.step);
  if (source === undefined) return { input: null, sample: null };
  const index = settleIndex(ref, source, (code, message) => planning.report(code, spot.field, message));
  checkKind(source, ref.step, spot, planning);
  const one = source.as === "voice" ? STAND_IN_VOICE : STAND_IN_MEDIA;
  const planned: Reference = { $ref: completeRef(ref.step, index, source) };
  const input = planned as unknown as Json;
  if (index !== "all") return { input, sample: one };
  const count = Number.isFinite(source.outputs) ? Math.min(source.outputs, MAX_SPREAD) : 1;
  return { input, sample: Array.from({ length: count }, () => one), spread: true };
}

/** A reference with all that is known of what it refers to. */
export function completeRef(step: string, output: number | "all", source: StepFacts): Reference["$ref"] {
  const { as, yields } = source;
  const isMedia = yields === "image" || yields === "video" || yields === "audio";
  return { step, as, output, ...(isMedia && { kind: yields }) };
}

/** Which output a reference takes, after checking that it is there. */
export function settleIndex(
  { step, output }: DraftReference["$ref"],
  source: StepFacts,
  report: (code: string, message: string) => void,
): number | "all" {
  if (output === "all") return "all";
  const { outputs } = source;
  if (output === "single") {
    if (outputs > 1 && Number.isFinite(outputs)) {
      const message = `${step} makes ${outputs} outputs; say which: ${step}.output(0) for one, ${step}.outputs() for all`;
      report("several-outputs", message);
    }
    return 0;
  }
  if (!Number.isSafeInteger(output) || output < 0 || output >= outputs) {
    const made = outputs === 1 ? "1 output, number 0" : `${outputs} outputs, numbers 0 to ${outputs - 1}`;
    report("output-index", `${step} makes ${made}; there is no output ${output}`);
  }
  return output;
}

function checkKind(source: StepFacts, step: string, { field, place }: Spot, { report }: Planning): void {
  const { yields, sizeBytes } = source;
  if (place === null || yields === null) return;
  const { takes } = place;
  const made = yields === "voice" ? "a voice" : phrase([yields as MediaKind]);
  switch (takes.what) {
    case "media":
      if (takes.kinds.length === 0 ? yields !== "voice" : takes.kinds.some((kind) => kind === yields)) {
        if (sizeBytes === null || takes.maxBytes === null || sizeBytes <= takes.maxBytes) return;
        return report(
          "file-size",
          field,
          `takes at most ${takes.maxBytes} bytes, and the file of ${step} has ${sizeBytes}`,
        );
      }
      return report("media-kind", field, `takes ${phrase(takes.kinds)}, and ${step} makes ${made}`);
    case "voice":
      if (yields !== "voice") report("media-kind", field, `takes a voice, and ${step} makes ${made}`);
      return;
    case "json":
      if (takes.types.length === 0) return;
      return report("media-kind", field, `takes plain JSON (${takes.types.join(" or ")}), and ${step} makes ${made}`);
    default:
      return takes satisfies never;
  }
}

export function placeAsset(asset: DraftAsset["$asset"], spot: Spot, { report }: Planning): Placed {
  spot.settle(spot.field);
  const { takes } = spot.place ?? {};
  const input = { source: "asset", asset_id: asset.assetId };
  if (asset.assetId.startsWith("job_")) {
    report("asset-id", spot.field, `${asset.assetId} is a job; give the asset_id of one of its outputs`);
  }
  const fits = takes?.what !== "media" || takes.kinds.length === 0 || takes.kinds.includes(asset.kind);
  if (takes !== undefined && (takes.what !== "media" || !fits)) {
    const wanted = takes.what === "media" ? phrase(takes.kinds) : takes.what === "voice" ? "a voice" : "plain JSON";
    report("media-kind", spot.field, `takes ${wanted}, and the asset is ${phrase([asset.kind])}`);
  }
  return { input, sample: STAND_IN_MEDIA };
}

/** `an image`, `an image or a video`. */
export function phrase(kinds: readonly MediaKind[]): string {
  const words = { image: "an image", video: "a video", audio: "audio" };
  return kinds.length === 0 ? "media" : kinds.map((kind) => words[kind]).join(" or ");
}
