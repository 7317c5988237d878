/** Kinds of output. `sound` is audio other than speech: music, noises, or a changed recording. `voice` makes a voice profile and no file. */
export type RenderKind = "image" | "video" | "avatar" | "speech" | "sound" | "voice";

/** A media input on disk, with the measurements of its upload. */
export interface MediaFile {
  readonly path: string;
  readonly contentType: string;
  /** Pixels; null for sound. */
  readonly width: number | null;
  readonly height: number | null;
  /** Milliseconds; null for a still image. */
  readonly durationMs: number | null;
  /** A picture that this service drew, with its prompt in small letters at the lower left. */
  readonly isCaptioned?: boolean;
}

/** The sound of a voice: a stock voice, shifted to a pitch and a loudness. */
export interface VoiceProfile {
  readonly base: "slt" | "rms" | "awb" | "kal";
  /** Median pitch in hertz; null keeps the stock voice's own. */
  readonly pitchHz: number | null;
  /** Loudness of the spoken parts in dB below full scale (negative); null means the default. */
  readonly loudnessDb: number | null;
  readonly label: string;
}

/** One output to render. */
export interface RenderRequest {
  readonly kind: RenderKind;
  /** Position of this output among the job's outputs, from 0; outputs of one job differ. */
  readonly index: number;
  readonly seed: number;
  /** The job's input: validated, with schema defaults filled. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The files of each media field of the input, in the given order. */
  readonly media: Readonly<Record<string, readonly MediaFile[]>>;
  /** The voice to speak in; null means the default voice. */
  readonly voice: VoiceProfile | null;
  /** Output path; written to a temporary file next to it first, then renamed. */
  readonly outPath: string;
}

/** The output, measured on the bytes written. Every media field is null for kind `voice`. */
export interface RenderResult {
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
  readonly sizeBytes: number;
  /** Set for kind `voice` only. */
  readonly voice: VoiceProfile | null;
}

export interface RenderOptions {
  /** Aborting stops the work at once and leaves no file behind. */
  readonly signal?: AbortSignal;
  /** Called with a rising fraction from 0 to 1 while frames or sentences are made. */
  readonly onProgress?: (fraction: number) => void;
}

/** Renders off the event loop, a few requests at a time; the rest are queued. */
export interface Renderer {
  /** @throws RenderError when an input cannot be decoded, the worker dies, or the signal aborts */
  render(request: RenderRequest, options?: RenderOptions): Promise<RenderResult>;
  /** Stops the workers; requests in flight are rejected. */
  close(): Promise<void>;
}

/** What a file's headers declare, true or not; null where that cannot be read without decoding it. */
export interface AnnouncedMedia {
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/**
 * The probed properties of a file; a corrupt or unsupported file is a value with the reason in prose, and with its
 * declared properties when its first bytes are those of an accepted format.
 */
export type ProbeResult =
  | ({ readonly ok: true; readonly fps: number | null } & AnnouncedMedia)
  | { readonly ok: false; readonly reason: string; readonly announced?: AnnouncedMedia };

/**
 * - `RENDER_ABORTED`: stopped by the caller's signal or by `close()`.
 * - `RENDER_INPUT`: a media input cannot be decoded, or nothing can be rendered from the input.
 * - `RENDER_WORKER_LOST`: the worker thread died (for example out of memory); the next request gets a new one.
 * - `RENDER_FAILED`: anything else, a defect of the renderer.
 */
export type RenderErrorCode = "RENDER_ABORTED" | "RENDER_INPUT" | "RENDER_WORKER_LOST" | "RENDER_FAILED";

/** The only error that {@link Renderer.render} rejects with. */
export class RenderError extends Error {
  readonly code: RenderErrorCode;

  constructor(code: RenderErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "RenderError";
    this.code = code;
  }
}

/** An unusable input, named by its field. */
export function inputError(field: string, reason: string): RenderError {
  return new RenderError("RENDER_INPUT", `${field}: ${reason}`);
}
