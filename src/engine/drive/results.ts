import { join } from "node:path";
import type { OutputState, RunState } from "../../journal/state.ts";
import { isReference } from "../../plan/index.ts";
import type { Reference, Returned } from "../../plan/plan.ts";
import { referenced, referencedValue } from "../../run/resolve.ts";
import type { MediaStore } from "../media/media-store.ts";

/** What a pipeline returned, in the shape that it was returned in; parts that do not exist are null. */
export function runOutputs(state: RunState, media: MediaStore): { readonly [name: string]: unknown } {
  const map = (value: Returned): unknown => {
    if (isReference(value)) return resolveOne(state, media, value.$ref);
    if (Array.isArray(value)) return value.map(map);
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, map(item as Returned)]));
  };
  return map(state.planned.plan.returns) as { readonly [name: string]: unknown };
}

function resolveOne(state: RunState, media: MediaStore, ref: Reference["$ref"]): unknown {
  if (ref.as === "upload") {
    const stored = state.steps[ref.step]?.upload;
    return stored === null || stored === undefined ? null : { path: media.path(stored.sha256), ...stored };
  }
  if (ref.as === "value") return referencedValue(state, ref) ?? null;
  const outputs = referenced(state, ref).map(({ step, output }) => one(state, media, step, output));
  return ref.output === "all" ? outputs : (outputs[0] ?? null);
}

function one(state: RunState, media: MediaStore, step: string, output: OutputState): unknown {
  if (output.voiceId !== null) return { voiceId: output.voiceId };
  const placed = state.files.find((file) => file.step === step && file.index === output.index);
  const copy = output.copy === null ? null : media.path(output.copy.sha256);
  const { assetId, contentType, width, height, durationMs, fps } = output;
  return {
    path: placed === undefined ? copy : join(state.planned.outDir, placed.file),
    assetId,
    sha256: output.copy?.sha256 ?? null,
    contentType,
    width,
    height,
    durationMs,
    fps,
  };
}
