import type { Handle, OutputsHandle } from "./handle.ts";
import type { MediaKind } from "./media.ts";

interface FileResult {
  /** Absolute path of the named file (or of our copy, where it has no name). */
  readonly path: string;
  readonly assetId: string | null;
  readonly sha256: string;
  readonly contentType: string;
}

export interface ImageResult extends FileResult {
  readonly width: number;
  readonly height: number;
}

export interface VideoResult extends ImageResult {
  readonly durationMs: number;
  readonly fps: number | null;
}

export interface AudioResult extends FileResult {
  readonly durationMs: number;
}

export interface VoiceResult {
  readonly voiceId: string;
}

type One<Y> = [Y] extends [never]
  ? FileResult
  : Y extends "image"
    ? ImageResult
    : Y extends "video"
      ? VideoResult
      : Y extends "audio"
        ? AudioResult
        : Y extends "voice"
          ? VoiceResult
          : Y extends MediaKind
            ? FileResult
            : unknown;

/** What a run yields for what its pipeline returns, in the same shape. */
export type ResultOf<R> =
  R extends OutputsHandle<infer Y>
    ? readonly One<Y>[]
    : R extends Handle<infer Y>
      ? One<Y>
      : { readonly [K in keyof R]: ResultOf<R[K]> };
