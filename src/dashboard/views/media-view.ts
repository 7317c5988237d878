import { type OutputState, outputsOf, placedFile, type RunState, type StepState } from "../../index.ts";
import { kindOfType } from "../http/media-types.ts";
import { cut } from "./truncate.ts";
import type { MediaView } from "./wire.ts";

/** Everything of a step that a person can look at. */
export function mediaOf(state: RunState, step: StepState): readonly MediaView[] {
  if (step.upload !== null) {
    const { contentType, sizeBytes, sha256 } = step.upload;
    return [
      { ...blank(step.path, "upload"), ...bytes(state.runId, step.path, "upload", { contentType, sizeBytes, sha256 }) },
    ];
  }
  return outputsOf(step)
    .filter(({ voiceId }) => voiceId === null)
    .map((output) => outputView(state, step, output));
}

export function outputView(state: RunState, step: StepState, output: OutputState): MediaView {
  const { index, copy, contentType } = output;
  const placed = placedFile(state, step.path, index);
  return {
    ...blank(step.path, index),
    kind: kindOfType(contentType),
    contentType,
    width: output.width,
    height: output.height,
    durationMs: output.durationMs,
    fps: output.fps,
    state: output.phase,
    error: output.error === null ? null : cut(output.error.message, 300),
    name: placed?.name ?? null,
    file: placed?.file ?? null,
    ...(copy !== null && bytes(state.runId, step.path, index, copy)),
  };
}

function blank(step: string, index: number | "upload"): MediaView {
  return {
    step,
    index,
    kind: "other",
    url: null,
    contentType: null,
    sizeBytes: null,
    width: null,
    height: null,
    durationMs: null,
    fps: null,
    state: "downloaded",
    error: null,
    name: null,
    file: null,
  };
}

interface Copy {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** The hash in the address only tells two versions apart; what is sent is looked up in the journal. */
function bytes(runId: string, step: string, index: number | "upload", { contentType, sizeBytes, sha256 }: Copy) {
  const url = `/media/${encodeURIComponent(runId)}/${encodeURIComponent(step)}/${index}?v=${sha256.slice(0, 12)}`;
  return { kind: kindOfType(contentType), contentType, sizeBytes, url };
}
