/** What a render job makes. `voice` makes a voice profile and no file. */
export type RenderKind = "image" | "video" | "avatar" | "speech" | "voice";

/** A media input that already lies on disk, with what was measured of it when it came in. */
export interface MediaFile {
  readonly path: string;
  readonly contentType: string;
  /** Pixels; null for sound. */
  readonly width: number | null;
  readonly height: number | null;
  /** Milliseconds; null for a still image. */
  readonly durationMs: number | null;
}

/** How a voice sounds: a stock voice, moved to a pitch and a loudness. */
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
  /** The job's input: validated, schema defaults filled. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The files behind each media field of the input, in the order given. */
  readonly media: Readonly<Record<string, readonly MediaFile[]>>;
  /** The voice to speak in; null means the default voice. */
  readonly voice: VoiceProfile | null;
  /** Where the bytes go; written beside it first, then renamed. */
  readonly outPath: string;
}

/** What was made, measured on the bytes written. Every media field is null for kind `voice`. */
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

/** Renders off the event loop, a few requests at a time; the rest wait in order. */
export interface Renderer {
  /** @throws RenderError when an input cannot be read, the worker is lost, or the signal aborts. */
  render(request: RenderRequest, options?: RenderOptions): Promise<RenderResult>;
  /** Stops the workers; requests still under way are rejected. */
  close(): Promise<void>;
}

/** What a file announces of itself, true or not; null where that cannot be read without decoding it. */
export interface AnnouncedMedia {
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/**
 * What a file really is; a corrupt or unsupported one is a value, with the reason in words, and with what it announces
 * when its first bytes are those of an accepted format.
 */
export type ProbeResult =
  | {
      readonly ok: true;
      readonly kind: "image" | "video" | "audio";
      readonly contentType: string;
      readonly width: number | null;
      readonly height: number | null;
      readonly durationMs: number | null;
      readonly fps: number | null;
    }
  | { readonly ok: false; readonly reason: string; readonly announced?: AnnouncedMedia };
