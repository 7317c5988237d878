import type { MediaView } from "./run-wire.ts";

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
