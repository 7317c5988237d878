/**
 * Kinds of output. `sound` is music, a sound effect or a modified recording. `voice` is a voice profile, which has no
 * file.
 */
export type RenderKind = "image" | "video" | "avatar" | "speech" | "sound" | "voice";

/** A media file that an input refers to, with its measured properties. */
export interface MediaFile {
  readonly path: string;
  readonly contentType: string;
  /** Width in pixels. Null for sound. */
  readonly width: number | null;
  readonly height: number | null;
  /** Duration in milliseconds. Null for a still image. */
  readonly durationMs: number | null;
  /** True if this service drew the image. Such an image shows its prompt at the lower left. */
  readonly isCaptioned?: boolean;
}

/** A stock voice with adjusted pitch and loudness. */
export interface VoiceProfile {
  readonly base: "slt" | "rms" | "awb" | "kal";
  /** Median pitch in hertz. Null keeps the stock voice's pitch. */
  readonly pitchHz: number | null;
  /** Loudness of the spoken parts in dB relative to full scale. Null means the default loudness. */
  readonly loudnessDb: number | null;
  readonly label: string;
}

/** One output to render. */
export interface RenderRequest {
  readonly kind: RenderKind;
  /** Position of this output among the job's outputs, starting at 0. */
  readonly index: number;
  readonly seed: number;
  /** The job's validated input, with schema defaults filled in. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The files of each media field, in the order of the input. */
  readonly media: Readonly<Record<string, readonly MediaFile[]>>;
  /** The voice to speak in. Null means the default voice. */
  readonly voice: VoiceProfile | null;
  /** Path of the output file. The renderer writes a temporary file beside it, and then renames that file. */
  readonly outPath: string;
}

/** Properties of the output, measured after the file was written. For kind `voice`, every media field is null. */
export interface RenderResult {
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
  readonly sizeBytes: number;
  /** Set only for kind `voice`. */
  readonly voice: VoiceProfile | null;
}

export interface RenderOptions {
  /** Aborting this signal stops the work immediately and leaves no file behind. */
  readonly signal?: AbortSignal;
}

/** Renders a few outputs at a time, outside the event loop, and queues other requests. */
export interface Renderer {
  /** Renders one output. @throws RenderError if an input cannot be decoded, a worker dies, or the signal is aborted */
  render(request: RenderRequest, options?: RenderOptions): Promise<RenderResult>;
  /** Stops the workers and rejects unfinished requests. */
  close(): Promise<void>;
}

/** Properties that a file's headers declare. They may be wrong. */
export interface AnnouncedMedia {
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

export type ProbeResult =
  | ({ readonly ok: true; readonly fps: number | null } & AnnouncedMedia)
  | { readonly ok: false; readonly reason: string; readonly announced?: AnnouncedMedia };

/**
 * - `RENDER_ABORTED`: the caller's signal or `close()` stopped the work.
 * - `RENDER_INPUT`: a media input cannot be decoded, or nothing can be rendered from the input.
 * - `RENDER_WORKER_LOST`: the worker thread died (for example, it ran out of memory); the next request gets a new one.
 * - `RENDER_FAILED`: any other error, which is a defect in the renderer.
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

export function inputError(field: string, reason: string): RenderError {
  return new RenderError("RENDER_INPUT", `${field}: ${reason}`);
}
