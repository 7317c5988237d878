import type { Handle, UploadHandle, Value, ValuesHandle } from "./handle.ts";
import { textHandle } from "./handle.ts";

/** What {@link text} accepts: plain values, and handles of values. */
export type TextPiece = string | number | boolean | Value<string | number | boolean | null>;

/**
 * Builds text that contains values from steps; they are inserted once they exist. `` text`A picture of
 * ${story.at("title")}` `` fits wherever an input accepts text.
 */
export function text(literals: TemplateStringsArray, ...pieces: readonly TextPiece[]): Value<string> {
  return textHandle(
    literals.flatMap((literal, index) => (index < pieces.length ? [literal, pieces[index]] : [literal])),
  );
}

interface MediaResult {
  /** The downloaded file. */
  readonly path: string;
  /** The id of the asset on the service; null after it expired. */
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
  /** Frames per second; null if the service has not measured the video. */
  readonly fps: number | null;
}

/** An audio file from a finished run. */
export interface AudioResult extends MediaResult {
  readonly durationMs: number;
}

/** A cloned voice, by the service's id. */
export interface VoiceResult {
  readonly voiceId: string;
}

/** A file that the run uploaded, as read from disk. */
export interface UploadResult {
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** The result of a step whose model is given as a plain id: fields that do not apply to its kind are null or absent. */
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

/** What a pipeline may return: handles, and lists and records of them. Undefined properties are not returned. */
export interface Returns {
  readonly [name: string]: Returnable | undefined;
}

export type Returnable = Handle | readonly Returnable[] | { readonly [name: string]: Returnable | undefined };

/** The type of a returned value in the result of a run that succeeded. */
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

/** The type of a returned value in the result of any other run: parts that do not exist are null. */
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
