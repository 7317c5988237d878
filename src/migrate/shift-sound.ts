import { readFile, writeFile } from "node:fs/promises";
import { ShowrunnerError } from "../core/kit/errors.ts";
import { closedWavBegin, readWavHeader, type WavHeader } from "../core/kit/media-headers.ts";
import { plainWav } from "../core/kit/placeholder-media.ts";

/** The sound could not be shifted, because its format is not supported or the file is damaged or too short. */
export class ShiftSoundError extends ShowrunnerError {
  readonly code = "SHIFT_SOUND";
}

/** Options for `shiftSound`. */
export interface ShiftSoundOptions {
  /** Path of a WAV file (PCM or float) or an MP3 file. */
  readonly from: string;
  /** Path to which the shifted sound is written, as WAV. */
  readonly to: string;
  /**
   * Offset in milliseconds. A positive offset cuts off the beginning. A negative offset adds silence before the sound.
   */
  readonly startMs: number;
}

/**
 * Makes a sound start later or earlier, like `audio_start_ms` in v2. Tasks in migrated pipelines use it.
 * @throws ShiftSoundError
 */
export async function shiftSound({ from, to, startMs }: ShiftSoundOptions): Promise<void> {
  const bytes = await readFile(from);
  const isWav = bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WAVE";
  const wav = isWav ? bytes : await decodeMp3(bytes, from);
  const header = readWavHeader(wav, wav.length);
  if (header === null) throw new ShiftSoundError(`${from} is a WAV file without audio data; use another file`);
  const { rate, frameBytes, bits } = readFormat(wav, header, from);
  const frames = Math.round((Math.abs(startMs) / 1000) * rate);
  const sound = wav.subarray(header.dataAt, header.dataAt + header.dataBytes);
  // Eight-bit samples are unsigned, so their silence is the midpoint.
  const silence = Buffer.alloc(startMs < 0 ? frames * frameBytes : 0, bits === 8 ? 0x80 : 0);
  const rest = startMs < 0 ? sound : sound.subarray(frames * frameBytes);
  if (startMs >= 0 && rest.length < frameBytes) {
    throw new ShiftSoundError(
      `${from} is shorter than the ${startMs} ms to be trimmed, so nothing would remain; use longer audio`,
    );
  }
  const dataBytes = silence.length + rest.length;
  const begin = closedWavBegin(wav, { ...header, dataBytes });
  const padding = Buffer.alloc(dataBytes % 2);
  begin.writeUInt32LE(begin.length - 8 + dataBytes + padding.length, 4);
  await writeFile(to, Buffer.concat([begin, silence, rest, padding]));
}

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

function readFormat(wav: Buffer, { formatAt: at }: WavHeader, from: string) {
  const [coding, rate, frameBytes] = [wav.readUInt16LE(at), wav.readUInt32LE(at + 4), wav.readUInt16LE(at + 12)];
  if (at === 0 || ![PCM, FLOAT, EXTENSIBLE].includes(coding) || frameBytes === 0 || rate === 0)
    throw new ShiftSoundError(`${from} is a WAV file whose encoding is neither PCM nor float; convert it to PCM first`);
  return { rate, frameBytes, bits: wav.readUInt16LE(at + 14) };
}

async function decodeMp3(bytes: Buffer, from: string): Promise<Buffer> {
  const { MPEGDecoder } = await import("mpg123-decoder");
  const decoder = new MPEGDecoder();
  try {
    await decoder.ready;
    const { channelData, sampleRate, samplesDecoded } = decoder.decode(bytes);
    if (samplesDecoded === 0)
      throw new ShiftSoundError(`${from} is neither WAV nor MP3; convert it to WAV or MP3 first`);
    return wavOf(channelData, samplesDecoded, sampleRate);
  } finally {
    decoder.free();
  }
}

function wavOf(channels: readonly Float32Array[], samples: number, rate: number): Buffer {
  const frameBytes = 2 * channels.length;
  const header = Buffer.from(plainWav(0));
  header.writeUInt16LE(channels.length, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  const data = Buffer.alloc(samples * frameBytes);
  for (const [channel, values] of channels.entries()) {
    for (let at = 0; at < samples; at++) {
      const value = Math.max(-1, Math.min(1, values[at] ?? 0));
      data.writeInt16LE(Math.round(value * 32_767), at * frameBytes + channel * 2);
    }
  }
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}
