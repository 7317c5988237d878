/** Kinds of output. `sound` is music, noises or a changed recording. `voice` is a voice profile, which has no file. */
export type RenderKind = "image" | "video" | "avatar" | "speech" | "sound" | "voice";

/** A media file of an input, with the properties measured at its upload. */
export interface MediaFile {
  readonly path: string;
  readonly contentType: string;
  /** Width in pixels; null for sound. */
  readonly width: number | null;
  readonly height: number | null;
  /** Duration in milliseconds; null for a still image. */
  readonly durationMs: number | null;
  /** True for a picture drawn by this service, which shows its prompt in small letters at the lower left. */
  readonly isCaptioned?: boolean;
}

/** A voice: a stock voice whose pitch and loudness are changed. */
export interface VoiceProfile {
  readonly base: "slt" | "rms" | "awb" | "kal";
  /** Median pitch in hertz; null keeps the stock voice's pitch. */
  readonly pitchHz: number | null;
  /** Loudness of the spoken parts in dB relative to full scale (negative); null means the default loudness. */
  readonly loudnessDb: number | null;
  readonly label: string;
}

/** One output to render. */
export interface RenderRequest {
  readonly kind: RenderKind;
  /** Position of this output among the job's outputs, from 0; the outputs of a job differ from each other. */
  readonly index: number;
  readonly seed: number;
  /** The job's input: validated, with schema defaults filled. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The files of each media field, in the order of the input. */
  readonly media: Readonly<Record<string, readonly MediaFile[]>>;
  /** The voice to speak in; null means the default voice. */
  readonly voice: VoiceProfile | null;
  /** Path of the output file. Writes a temporary file next to that path first, then renames it. */
  readonly outPath: string;
}

/** The output's properties, measured after the file was written. Every media field is null for kind `voice`. */
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
  /** Aborting this signal stops the work at once, and leaves no file behind. */
  readonly signal?: AbortSignal;
  /** Called while the output is made, with the finished fraction, which rises from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/** Renders outputs outside the event loop. Processes a few requests at a time, and queues the others. */
export interface Renderer {
  /** Renders one output. @throws RenderError for an undecodable input, a dead worker or an aborted signal */
  render(request: RenderRequest, options?: RenderOptions): Promise<RenderResult>;
  /** Stops the workers and rejects requests in flight. */
  close(): Promise<void>;
}

/** What a file's headers declare, which may be wrong; null for values that cannot be read without decoding. */
export interface AnnouncedMedia {
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/**
 * The properties of a probed file. For a corrupt or unsupported file: the reason and, if its first bytes are in an
 * accepted format, the properties that they declare.
 */
export type ProbeResult =
  | ({ readonly ok: true; readonly fps: number | null } & AnnouncedMedia)
  | { readonly ok: false; readonly reason: string; readonly announced?: AnnouncedMedia };

/**
 * - `RENDER_ABORTED`: the caller's signal or `close()` stopped the work.
 * - `RENDER_INPUT`: a media input cannot be decoded, or nothing can be rendered from the input.
 * - `RENDER_WORKER_LOST`: the worker thread died (for example out of memory); the next request gets a new one.
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

/** The error for an unusable input, which names the input's field. */
export function inputError(field: string, reason: string): RenderError {
  return new RenderError("RENDER_INPUT", `${field}: ${reason}`);
}
