import type { Sound } from "./sound.ts";
import { locateSamples, sampleReader, type WavLayout } from "./wav-layout.ts";

const PCM = 1;

/** Either the decoded sound, or why the bytes are not a sound WAV file. */
export type WavResult = { readonly ok: true; readonly sound: Sound } | { readonly ok: false; readonly reason: string };

/** 16-bit PCM in a RIFF container. */
export function encodeWav(sound: Sound): Uint8Array {
  const channels = sound.channels.length;
  const length = sound.channels[0].length;
  const dataBytes = length * channels * 2;
  const bytes = Buffer.alloc(44 + dataBytes);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(36 + dataBytes, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(PCM, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(sound.rate, 24);
  bytes.writeUInt32LE(sound.rate * channels * 2, 28);
  bytes.writeUInt16LE(channels * 2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(dataBytes, 40);
  let at = 44;
  for (let i = 0; i < length; i++) {
    for (const channel of sound.channels) {
      const sample = Math.max(-1, Math.min(1, channel[i] ?? 0));
      at = bytes.writeInt16LE(Math.round(sample * 32767), at);
    }
  }
  return bytes;
}

/** Reads PCM of 8, 16, 24 or 32 bits, or 32-bit floats. */
export function decodeWav(bytes: Uint8Array): WavResult {
  const layout = layoutOf(bytes);
  if (!layout.ok) return layout;
  const { format, length } = layout;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = sampleReader(view, format);
  const data = Array.from({ length: format.channels }, () => new Float32Array(length));
  const [first, ...rest] = data;
  if (read === null || first === undefined) return { ok: false, reason: "its format is not supported" };
  let at = layout.start;
  for (let i = 0; i < length; i++) {
    for (const channel of data) {
      channel[i] = read(at);
      at += format.bits / 8;
    }
  }
  return { ok: true, sound: { rate: format.rate, channels: [first, ...rest] } };
}

function layoutOf(bytes: Uint8Array): WavLayout {
  const walk = locateSamples(bytes.length);
  let step = walk.next();
  while (!step.done) {
    const { at, size } = step.value;
    const part = bytes.subarray(at, at + size);
    step = walk.next(new DataView(part.buffer, part.byteOffset, part.byteLength));
  }
  return step.value;
}
