const MAX_SECONDS = 20 * 60;
/** Assumed length of a damaged frame; formats differ, their frames are about as long. */
const SAMPLES_PER_FRAME = 1152;

interface Decoded {
  readonly channelData: readonly Float32Array[];
  readonly sampleRate: number;
  readonly samplesDecoded: number;
  readonly errors: readonly unknown[];
}

/** A streaming decoder. */
export interface SoundDecoder {
  readonly ready: Promise<void>;
  decode(slice: Uint8Array): Decoded | Promise<Decoded>;
  /** Flushes the decoder after the last slice. */
  flush?(): Promise<Decoded>;
  free(): void;
}

export type Slices = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Receives the channels of each decoded block, and may discard them. */
export type Keep = (channels: readonly Float32Array[]) => void;

/** The result of decoding: the length in samples of each channel, or the error. */
export type Unpacked =
  | { readonly ok: true; readonly rate: number; readonly samples: number }
  | { readonly ok: false; readonly reason: string };

/** Decodes slice by slice, and frees the decoder. */
export async function unpack(decoder: SoundDecoder, slices: Slices, keep: Keep): Promise<Unpacked> {
  let [rate, samples, faults] = [0, 0, 0];
  const take = ({ channelData, sampleRate, samplesDecoded, errors }: Decoded) => {
    faults += errors.length;
    if (samplesDecoded === 0) return;
    keep(channelData);
    [rate, samples] = [sampleRate, samples + samplesDecoded];
  };
  try {
    await decoder.ready;
    for await (const slice of slices) {
      take(await decoder.decode(slice));
      if (samples > MAX_SECONDS * rate) return no(`it is longer than ${MAX_SECONDS / 60} minutes`);
    }
    if (decoder.flush) take(await decoder.flush());
    if (samples === 0) return no("no frame of it can be decoded");
    if (faults * SAMPLES_PER_FRAME > samples * 0.1) return no(`${faults} of its frames are damaged`);
    return { ok: true, rate, samples };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  } finally {
    decoder.free();
  }
}

export const no = (reason: string) => ({ ok: false, reason }) as const;
