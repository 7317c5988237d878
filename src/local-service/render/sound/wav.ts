import type { Sound } from "./sound.ts";

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
const MAX_CHANNELS = 8;

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
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || tag(view, 0) !== "RIFF" || tag(view, 8) !== "WAVE") return no("no RIFF/WAVE header");
  let format: Format | null = null;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = tag(view, at);
    const size = view.getUint32(at + 4, true);
    const start = at + 8;
    if (name === "fmt ") {
      if (size < 16 || start + size > bytes.length) return no("its format chunk is cut short");
      format = readFormat(view, start, size);
    }
    if (name === "data") {
      if (format === null) return no("its samples come before their format");
      return readSamples(view, start, size, format);
    }
    at = start + size + (size % 2);
  }
  return no("it holds no samples (no data chunk)");
}

interface Format {
  readonly code: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
}

function readFormat(view: DataView, at: number, size: number): Format {
  const code = view.getUint16(at, true);
  return {
    code: code === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : code,
    channels: view.getUint16(at + 2, true),
    rate: view.getUint32(at + 4, true),
    bits: view.getUint16(at + 14, true),
  };
}

function readSamples(view: DataView, start: number, size: number, format: Format): WavResult {
  const { channels, rate, bits } = format;
  if (channels < 1 || channels > MAX_CHANNELS)
    return no(`${channels} channels are not supported (1 to ${MAX_CHANNELS})`);
  if (rate < 4000 || rate > 192_000) return no(`a sample rate of ${rate} Hz is not supported (4000 to 192000)`);
  const read = sampleReader(view, format);
  if (read === null) return no(`encoding ${format.code} with ${bits} bits is not supported (PCM or 32-bit float)`);
  // A streaming writer leaves the size open; then the data reaches to the end of the file.
  const open = size === 0xffffffff || size === 0;
  const available = view.byteLength - start;
  if (!open && size > available) return no(`it is cut short: ${size} bytes of samples announced, ${available} present`);
  const step = bits / 8;
  const length = Math.floor((open ? available : size) / (step * channels));
  if (length === 0) return no("it holds no samples");
  const data = Array.from({ length: channels }, () => new Float32Array(length));
  let at = start;
  for (let i = 0; i < length; i++) {
    for (const channel of data) {
      channel[i] = read(at);
      at += step;
    }
  }
  const [first, ...rest] = data;
  if (first === undefined) return no("it has no channels");
  return { ok: true, sound: { rate, channels: [first, ...rest] } };
}

function sampleReader(view: DataView, { code, bits }: Format): ((at: number) => number) | null {
  if (code === FLOAT && bits === 32) return (at) => finite(view.getFloat32(at, true));
  if (code !== PCM) return null;
  if (bits === 8) return (at) => (view.getUint8(at) - 128) / 128;
  if (bits === 16) return (at) => view.getInt16(at, true) / 32768;
  if (bits === 24) return (at) => (view.getUint16(at, true) | (view.getInt8(at + 2) << 16)) / 8388608;
  if (bits === 32) return (at) => view.getInt32(at, true) / 2147483648;
  return null;
}

const finite = (value: number) => (Number.isFinite(value) ? value : 0);
const tag = (view: DataView, at: number) =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
const no = (reason: string): WavResult => ({ ok: false, reason });
