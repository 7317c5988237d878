import type { OutputState } from "../../../internal.ts";

/** One output, or one uploaded file, that can be looked at. */
export interface MediaView
  extends Omit<OutputState, "index" | "status" | "voiceId" | "contentType" | "error" | "phase" | "copy" | "uncopied"> {
  readonly step: string;
  /** Position in the step's outputs; `upload` for an upload's file. */
  readonly index: number | "upload";
  readonly kind: "image" | "video" | "audio" | "other";
  readonly contentType: string | null;
  /** Where its bytes are; null while there is no copy on this machine. */
  readonly url: string | null;
  readonly sizeBytes: number | null;
  /** Of its copy here; null without one. */
  readonly sha256: string | null;
  readonly state: string;
  readonly error: string | null;
  /** What the pipeline calls it, where it returns it. */
  readonly name: string | null;
  /** Its named file below the run's folder. */
  readonly file: string | null;
}

/** A medium of which nothing is known but where it stands. */
export function blankMedia(step: string, index: MediaView["index"]): MediaView {
  return {
    step,
    index,
    kind: "other",
    url: null,
    contentType: null,
    sizeBytes: null,
    sha256: null,
    assetId: null,
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
