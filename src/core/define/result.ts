import type { Handle, UploadHandle, Value, ValuesHandle } from "./handle.ts";
import { textHandle } from "./handle.ts";

/** What may stand in {@link text}: plain values, and values of steps. */
export type TextPiece = string | number | boolean | Value<string | number | boolean | null>;

/**
 * Text with values of steps in it, which are put in once they exist: `` text`A picture of ${story.at("title")}` `` goes
 * wherever an input takes text.
 */
export function text(literals: TemplateStringsArray, ...pieces: readonly TextPiece[]): Value<string> {
  return textHandle(
    literals.flatMap((literal, index) => (index < pieces.length ? [literal, pieces[index]] : [literal])),
  );
}

interface MediaResult {
  /** The downloaded file. */
  readonly path: string;
  /** Null once the asset expired at the service. */
  readonly assetId: string | null;
  readonly sha256: string;
  readonly contentType: string;
}

export interface ImageResult extends MediaResult {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export interface VideoResult extends MediaResult {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly durationMs: number;
  /** Frames a second; null when the service has not measured it. */
  readonly fps: number | null;
}

export interface AudioResult extends MediaResult {
  readonly durationMs: number;
}

export interface VoiceResult {
  readonly voiceId: string;
}

export interface UploadResult {
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** Result of a step whose model is an untyped id: fields that its kind does not have are null or absent. */
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

/** What a pipeline may return: handles, and lists and records of them. */
export interface Returns {
  readonly [name: string]: Returnable;
}

export type Returnable = Handle | readonly Returnable[] | { readonly [name: string]: Returnable };

/** What a returned value becomes once the run succeeded. */
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

/** {@link ResultOf} of a run that has not succeeded, or not yet: a part that does not exist is null. */
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
