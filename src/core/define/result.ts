import type { Handle, UploadHandle, Value, ValuesHandle } from "./handle.ts";
import { textHandle } from "./handle.ts";

/** A piece that {@link text} inserts: a plain value, or the handle of a value. */
export type TextPiece = string | number | boolean | Value<string | number | boolean | null>;

/**
 * Builds text with values from steps, which are inserted once they exist. Use it wherever an input accepts text:
 * `` text`A picture of ${story.at("title")}` ``.
 */
export function text(literals: TemplateStringsArray, ...pieces: readonly TextPiece[]): Value<string> {
  return textHandle(
    literals.flatMap((literal, index) => (index < pieces.length ? [literal, pieces[index]] : [literal])),
  );
}

interface MediaResult {
  /** Path of the downloaded file. */
  readonly path: string;
  /** The id of the asset on the service. Null if the asset has expired. */
  readonly assetId: string | null;
  readonly sha256: string;
  readonly contentType: string;
}

/** An image from a finished run. */
export interface ImageResult extends MediaResult {
  /** Width in pixels. */
  readonly width: number;
  readonly height: number;
}

/** A video from a finished run. */
export interface VideoResult extends MediaResult {
  /** Width in pixels. */
  readonly width: number;
  readonly height: number;
  readonly durationMs: number;
  /** Frames per second. Null if the service has not measured the video. */
  readonly fps: number | null;
}

/** An audio file from a finished run. */
export interface AudioResult extends MediaResult {
  readonly durationMs: number;
}

/** A cloned voice. */
export interface VoiceResult {
  readonly voiceId: string;
}

/** A file that the run uploaded from this machine. */
export interface UploadResult {
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** The result of a step whose model is a plain id. Fields that do not apply to its media are null or absent. */
export interface UntypedResult {
  readonly path?: string;
  readonly assetId?: string | null;
  readonly sha256?: string;
  readonly contentType?: string;
  readonly width?: number | null;
  readonly height?: number | null;
  readonly durationMs?: number | null;
  readonly fps?: number | null;
  readonly voiceId?: string;
}

interface ResultByYield {
  readonly image: ImageResult;
  readonly video: VideoResult;
  readonly audio: AudioResult;
  readonly text: MediaResult;
  readonly voice: VoiceResult;
  readonly value: unknown;
  readonly unknown: UntypedResult;
}

/** What a pipeline may return: handles, and lists and records of handles. Undefined properties are ignored. */
export interface Returns {
  readonly [name: string]: Returnable | undefined;
}

export type Returnable = Handle | readonly Returnable[] | { readonly [name: string]: Returnable | undefined };

/** Maps what `build` returned to its type in the result of a successful run. */
export type ResultOf<R> = R extends UploadHandle
  ? UploadResult
  : R extends Value<infer T>
    ? T
    : R extends ValuesHandle<infer T>
      ? readonly T[]
      : R extends Handle<infer Y, infer F>
        ? F extends "list"
          ? readonly ResultByYield[Y][]
          : ResultByYield[Y]
        : { readonly [K in keyof R]: ResultOf<R[K]> };

/** Maps what `build` returned to its type in the result of a run that did not succeed. Missing parts are null. */
export type PartialResultOf<R> = R extends UploadHandle
  ? UploadResult | null
  : R extends Value<infer T>
    ? T | null
    : R extends ValuesHandle<infer T>
      ? readonly T[] | null
      : R extends Handle<infer Y, infer F>
        ? F extends "list"
          ? readonly (ResultByYield[Y] | null)[]
          : ResultByYield[Y] | null
        : { readonly [K in keyof R]: PartialResultOf<R[K]> };
