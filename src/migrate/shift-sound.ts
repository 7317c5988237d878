import { readFile, writeFile } from "node:fs/promises";
import { ShowrunnerError } from "../core/kit/errors.ts";

/** A sound could not be shifted: it is neither WAV nor MP3, is damaged, or nothing of it would remain. */
export class ShiftSoundError extends ShowrunnerError {
  readonly code = "SHIFT_SOUND";
}

export interface ShiftSoundOptions {
  /** A WAV (PCM or float) or MP3 file. */
  readonly from: string;
  /** Where the shifted sound is written, as WAV. */
  readonly to: string;
  /** Milliseconds: a positive value is cut off the beginning, a negative one adds silence before it. */
  readonly startMs: number;
}

/** Implements v2's `audio_start_ms`: makes a sound begin later or earlier. For tasks of migrated pipelines. */
export async function shiftSound({ from, to, startMs }: ShiftSoundOptions): Promise<void> {
  const bytes = await readFile(from);
  const isWav = bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WAVE";
  const wav = isWav ? readWav(bytes, from) : await unpackMp3(bytes, from);
  await writeFile(to, writeWav({ ...wav, data: shifted(wav, startMs, from) }));
}

interface Wav {
  /** Content of the `fmt ` chunk. */
  readonly format: Buffer;
  readonly data: Buffer;
}

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

function readWav(bytes: Buffer, from: string): Wav {
  let format: Buffer | null = null;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString("latin1", at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    const content = bytes.subarray(at + 8, at + 8 + size);
    if (name === "fmt ") format = content;
    if (name === "data" && format !== null) return { format: checked(format, from), data: content };
    at += 8 + size + (size % 2);
  }
  throw new ShiftSoundError(`${from} is a WAV file without sound in it; give another one`);
}

function checked(format: Buffer, from: string): Buffer {
  const coding = format.length >= 16 ? format.readUInt16LE(0) : 0;
  if ([PCM, FLOAT, EXTENSIBLE].includes(coding) && format.readUInt16LE(12) > 0 && format.readUInt32LE(4) > 0)
    return format;
  throw new ShiftSoundError(`${from} is WAV in a coding that is neither PCM nor float; convert it to PCM first`);
}

function shifted({ format, data }: Wav, startMs: number, from: string): Buffer {
  const frameBytes = format.readUInt16LE(12);
  const frames = Math.round((Math.abs(startMs) / 1000) * format.readUInt32LE(4));
  // Eight-bit samples are unsigned; their silence is the midpoint.
  const silence = format.readUInt16LE(14) === 8 ? 0x80 : 0;
  if (startMs < 0) return Buffer.concat([Buffer.alloc(frames * frameBytes, silence), data]);
  const rest = data.subarray(frames * frameBytes);
  if (rest.length >= frameBytes) return rest;
  throw new ShiftSoundError(`${from} is shorter than the ${startMs} ms to cut off; nothing of it would be left`);
}

function writeWav({ format, data }: Wav): Buffer {
  const size = 4 + 8 + format.length + (format.length % 2) + 8 + data.length;
  const chunk = (name: string, content: Buffer) => {
    const head = Buffer.alloc(8);
    head.write(name, "latin1");
    head.writeUInt32LE(content.length, 4);
    return [head, content, Buffer.alloc(content.length % 2)];
  };
  const head = Buffer.alloc(12);
  head.write("RIFF\0\0\0\0WAVE", "latin1");
  head.writeUInt32LE(size + (data.length % 2), 4);
  return Buffer.concat([head, ...chunk("fmt ", format), ...chunk("data", data)]);
}

async function unpackMp3(bytes: Buffer, from: string): Promise<Wav> {
  const { MPEGDecoder } = await import("mpg123-decoder");
  const decoder = new MPEGDecoder();
  try {
    await decoder.ready;
    const { channelData, sampleRate, samplesDecoded } = decoder.decode(bytes);
    if (samplesDecoded === 0)
      throw new ShiftSoundError(`${from} is neither WAV nor MP3; convert it to one of them first`);
    return { format: pcmFormat(channelData.length, sampleRate), data: pcm(channelData, samplesDecoded) };
  } finally {
    decoder.free();
  }
}

function pcmFormat(channels: number, rate: number): Buffer {
  const format = Buffer.alloc(16);
  format.writeUInt16LE(PCM, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE(rate * channels * 2, 8);
  format.writeUInt16LE(channels * 2, 12);
  format.writeUInt16LE(16, 14);
  return format;
}

function pcm(channels: readonly Float32Array[], samples: number): Buffer {
  const data = Buffer.alloc(samples * channels.length * 2);
  for (const [channel, values] of channels.entries()) {
    for (let at = 0; at < samples; at++) {
      const value = Math.max(-1, Math.min(1, values[at] ?? 0));
      data.writeInt16LE(Math.round(value * 32_767), (at * channels.length + channel) * 2);
    }
  }
  return data;
}
