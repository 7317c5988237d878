import type { StepView } from "../../../core/view/index.ts";

export interface PageMedia
  extends Omit<
    StepView["outputs"][number],
    "index" | "status" | "voiceId" | "contentType" | "error" | "phase" | "copy" | "uncopied"
  > {
  readonly step: string;
  readonly index: number | "upload";
  readonly kind: "image" | "video" | "audio" | "other";
  readonly contentType: string | null;
  readonly url: string | null;
  readonly sizeBytes: number | null;
  readonly sha256: string | null;
  readonly state: string;
  readonly error: string | null;
  readonly name: string | null;
  readonly file: string | null;
}

export function blankMedia(step: string, index: PageMedia["index"]): PageMedia {
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
