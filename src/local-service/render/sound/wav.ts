import type { Sound } from "./sound.ts";

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
const MAX_CHANNELS = 8;
const MAX_CHUNKS = 4096;

export interface WavFormat {
  readonly code: number;
  readonly channels: number;
  /** Samples a second. */
  readonly rate: number;
  readonly bits: number;
}

/** Where the samples of a WAV file lie, or why it has none that can be read. */
export type WavLayout =
  | {
      readonly ok: true;
      readonly format: WavFormat;
      /** Byte at which the samples begin. */
      readonly start: number;
      /** Samples of each channel. */
      readonly length: number;
    }
  | { readonly ok: false; readonly reason: string };

/** A stretch of the file that is wanted next; the answer may be shorter at the end of the file. */
export interface Wanted {
  readonly at: number;
  readonly size: number;
}

/**
 * Walks the chunks up to the samples, asking for a few bytes at a time, so that a file in memory and a file on disk are
 * read by the same rules and the samples are never loaded for it.
 *
 * @param total bytes of the whole file
 */
export function* locateSamples(total: number): Generator<Wanted, WavLayout, DataView> {
  const head = yield { at: 0, size: 12 };
  if (head.byteLength < 12 || tag(head, 0) !== "RIFF" || tag(head, 8) !== "WAVE") return no("no RIFF/WAVE header");
  let format: WavFormat | null = null;
  let at = 12;
  for (let chunks = 0; at + 8 <= total && chunks < MAX_CHUNKS; chunks++) {
    const chunk = yield { at, size: 8 };
    const name = tag(chunk, 0);
    const size = chunk.getUint32(4, true);
    const start = at + 8;
    if (name === "fmt ") {
      if (size < 16 || start + size > total) return no("its format chunk is cut short");
      format = readFormat(yield { at: start, size: Math.min(size, 26) });
    }
    if (name === "data") {
      return format === null ? no("its samples come before their format") : measured(start, size, total, format);
    }
    at = start + size + (size % 2);
  }
  return no("it holds no samples (no data chunk)");
}

/** How one sample is read, in [-1, 1]; null for an encoding that is not supported. */
export function sampleReader(view: DataView, { code, bits }: WavFormat): ((at: number) => number) | null {
  if (code === FLOAT && bits === 32) return (at) => finite(view.getFloat32(at, true));
  if (code !== PCM) return null;
  if (bits === 8) return (at) => (view.getUint8(at) - 128) / 128;
  if (bits === 16) return (at) => view.getInt16(at, true) / 32768;
  if (bits === 24) return (at) => (view.getUint16(at, true) | (view.getInt8(at + 2) << 16)) / 8388608;
  if (bits === 32) return (at) => view.getInt32(at, true) / 2147483648;
  return null;
}

function readFormat(view: DataView): WavFormat {
  const code = view.getUint16(0, true);
  return {
    code: code === EXTENSIBLE && view.byteLength >= 26 ? view.getUint16(24, true) : code,
    channels: view.getUint16(2, true),
    rate: view.getUint32(4, true),
    bits: view.getUint16(14, true),
  };
}

const NOTHING = new DataView(new ArrayBuffer(0));

function measured(start: number, size: number, total: number, format: WavFormat): WavLayout {
  const { channels, rate, bits } = format;
  if (channels < 1 || channels > MAX_CHANNELS)
    return no(`${channels} channels are not supported (1 to ${MAX_CHANNELS})`);
  if (rate < 4000 || rate > 192_000) return no(`a sample rate of ${rate} Hz is not supported (4000 to 192000)`);
  if (sampleReader(NOTHING, format) === null)
    return no(`encoding ${format.code} with ${bits} bits is not supported (PCM or 32-bit float)`);
  // A streaming writer leaves the size open; then the data reaches to the end of the file.
  const open = size === 0xffffffff || size === 0;
  const available = total - start;
  if (!open && size > available) return no(`it is cut short: ${size} bytes of samples announced, ${available} present`);
  const length = Math.floor((open ? available : size) / ((bits / 8) * channels));
  return length === 0 ? no("it holds no samples") : { ok: true, format, start, length };
}

const finite = (value: number) => (Number.isFinite(value) ? value : 0);
const tag = (view: DataView, at: number) =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
const no = (reason: string): WavLayout => ({ ok: false, reason });

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
