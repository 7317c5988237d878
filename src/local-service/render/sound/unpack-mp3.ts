import { MPEGDecoder } from "mpg123-decoder";

const MAX_SECONDS = 20 * 60;
const SAMPLES_PER_FRAME = 1152;

/** How an MP3 decoded: its length in samples of each channel, or why it does not. */
export type UnpackedMp3 =
  | { readonly ok: true; readonly rate: number; readonly samples: number }
  | { readonly ok: false; readonly reason: string };

/** Decodes slice by slice; `keep` gets the channels of each and may let them go. */
export async function unpackMp3(
  slices: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  keep: (channels: readonly Float32Array[]) => void,
): Promise<UnpackedMp3> {
  const decoder = new MPEGDecoder();
  try {
    await decoder.ready;
    let [rate, samples, faults] = [0, 0, 0];
    for await (const slice of slices) {
      const { channelData, sampleRate, samplesDecoded, errors } = decoder.decode(slice);
      if (samplesDecoded > 0) keep(channelData);
      [rate, samples, faults] = [sampleRate || rate, samples + samplesDecoded, faults + errors.length];
      if (samples > MAX_SECONDS * rate) return no(`it is longer than ${MAX_SECONDS / 60} minutes`);
    }
    if (samples === 0) return no("no frame of it can be decoded");
    if (faults * SAMPLES_PER_FRAME > samples * 0.1) return no(`${faults} of its frames are damaged`);
    return { ok: true, rate, samples };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  } finally {
    decoder.free();
  }
}

const no = (reason: string): UnpackedMp3 => ({ ok: false, reason });
