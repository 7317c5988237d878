import { readFile } from "node:fs/promises";
import {
  EncodedPacketSink,
  FilePathSource,
  Input,
  type InputAudioTrack,
  type InputFormat,
  MP4,
  OGG,
  QTFF,
  WEBM,
} from "mediabunny";
import { type Format, sniff, type WindowedFile, withFile } from "../probe/formats.ts";
import { joined, type Sound, withLength } from "./sound.ts";
import { decodeWav } from "./wav.ts";

const MAX_SECONDS = 20 * 60;
/** Assumed length of a damaged frame; formats differ, their frames are about as long. */
const SAMPLES_PER_FRAME = 1152;

interface Decoded {
  readonly channelData: readonly Float32Array[];
  readonly sampleRate: number;
  readonly samplesDecoded: number;
  readonly errors: readonly unknown[];
}

/** A streaming decoder. Each is imported on first use, since one alone weighs more than most files. */
interface SoundDecoder {
  readonly ready: Promise<void>;
  decode(slice: Uint8Array): Decoded | Promise<Decoded>;
  /** Flushes the decoder after the last slice. */
  flush?(): Promise<Decoded>;
  free(): void;
}

type Slices = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Receives the channels of each decoded block. */
type Sink = (channels: readonly Float32Array[]) => void;

/** The result of decoding: the length in samples of each channel, or the error. */
type Unpacked =
  | { readonly ok: true; readonly rate: number; readonly samples: number }
  | { readonly ok: false; readonly reason: string };

/** Decodes slice by slice, and frees the decoder. */
async function unpack(decoder: SoundDecoder, slices: Slices, sink: Sink): Promise<Unpacked> {
  let [rate, samples, faults] = [0, 0, 0];
  const take = ({ channelData, sampleRate, samplesDecoded, errors }: Decoded) => {
    faults += errors.length;
    if (samplesDecoded === 0) return;
    sink(channelData);
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

const no = (reason: string) => ({ ok: false, reason }) as const;

/** The marker and STREAMINFO block at the beginning of a FLAC file. */
const INFO_BYTES = 42;

/** Decodes FLAC, bare or within Ogg. */
async function unpackFlac(file: WindowedFile, sink: Sink): Promise<Unpacked> {
  const said = await announced(file);
  const { FLACDecoder } = await import("@wasm-audio-decoders/flac");
  const unpacked = await unpack(new FLACDecoder(), copies(file), sink);
  if (!unpacked.ok || said === null || said.samples === 0) return unpacked;
  // The decoder omits a last frame of silence, which is only a few bytes.
  if (unpacked.samples < said.samples - said.largestFrame) return no("it is cut short");
  return { ...unpacked, samples: said.samples };
}

/** Samples of the whole file (0 for unknown) and of its largest frame; null where no such block leads the file. */
async function announced(file: WindowedFile) {
  const view = await file.read({ at: 0, size: INFO_BYTES });
  if (view.byteLength < INFO_BYTES || view.getUint32(0) !== 0x664c6143) return null;
  return { largestFrame: view.getUint16(10), samples: (view.getUint8(21) & 15) * 2 ** 32 + view.getUint32(22) };
}

/** The decoder works on a slice after it has answered. */
async function* copies(file: WindowedFile): AsyncGenerator<Uint8Array> {
  for await (const slice of file.slices()) yield Uint8Array.from(slice);
}

/** Opus is always decoded at this rate. */
const RATE = 48_000;

/** Decodes an Opus track of any container, at the container's declared length. */
async function unpackOpus(track: InputAudioTrack, sink: Sink): Promise<Unpacked> {
  const description = (await track.getDecoderConfig())?.description;
  if (!(description instanceof Uint8Array)) return no("its Opus header is missing");
  const unpacked = await unpack(await opusDecoder(description), packetsOf(track), sink);
  if (!unpacked.ok) return unpacked;
  return { ...unpacked, samples: Math.round((await track.computeDuration()) * RATE) };
}

async function opusDecoder(head: Uint8Array): Promise<SoundDecoder> {
  const { OpusDecoder } = await import("opus-decoder");
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const channels = view.getUint8(9);
  const preSkip = view.getUint16(10, true);
  // Beyond stereo, the header also maps streams to channels.
  const [streamCount, coupledStreamCount, channelMappingTable] =
    view.getUint8(18) === 0
      ? [1, channels - 1, channels === 1 ? [0] : [0, 1]]
      : [view.getUint8(19), view.getUint8(20), [...head.subarray(21, 21 + channels)]];
  const decoder = new OpusDecoder({ channels, preSkip, streamCount, coupledStreamCount, channelMappingTable });
  return { ready: decoder.ready, decode: (packet) => decoder.decodeFrame(packet), free: () => decoder.free() };
}

async function* packetsOf(track: InputAudioTrack): AsyncGenerator<Uint8Array> {
  for await (const packet of new EncodedPacketSink(track).packets()) yield packet.data;
}

const PAGE_HEADER_BYTES = 27;
const MAX_PAGES = 1_000_000;

/** Decodes Vorbis, Opus or FLAC within Ogg. */
async function unpackOgg(file: WindowedFile, sink: Sink): Promise<Unpacked> {
  const fault = await pageFault(file);
  if (fault !== null) return no(fault);
  const view = await file.read({ at: 0, size: 64 });
  const head = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  if (head.includes("OpusHead")) {
    using input = openInput(file.path, [OGG]);
    const track = await input.getPrimaryAudioTrack();
    return track === null ? no("it has no track of sound") : await unpackOpus(track, sink);
  }
  const { OggVorbisDecoder } = await import("@wasm-audio-decoders/ogg-vorbis");
  if (head.includes("\u0001vorbis")) return unpack(new OggVorbisDecoder(), copies(file), sink);
  if (head.includes("\u007fFLAC")) return unpackFlac(file, sink);
  return no("its sound is not Vorbis, Opus or FLAC");
}

/** Reads a container's tracks; an error between two reads surfaces in the next one. */
function openInput(path: string, formats: InputFormat[]): Input {
  return new Input({ source: new FilePathSource(path, { handleUnhandledError: () => undefined }), formats });
}

/** Why the pages, one after the other, do not end where the file ends; null when they do. */
async function pageFault({ size: total, read }: WindowedFile): Promise<string | null> {
  let at = 0;
  for (let pages = 0; at < total; pages++) {
    if (pages === MAX_PAGES) return `it has more than ${MAX_PAGES} pages`;
    const page = await read({ at, size: PAGE_HEADER_BYTES + 255 });
    if (page.byteLength < PAGE_HEADER_BYTES) return "it is cut short";
    if (page.getUint32(0) !== 0x4f676753) return `there is no page at byte ${at}`;
    const segments = page.getUint8(26);
    if (page.byteLength < PAGE_HEADER_BYTES + segments) return "it is cut short";
    at += PAGE_HEADER_BYTES + segments;
    for (let i = 0; i < segments; i++) at += page.getUint8(PAGE_HEADER_BYTES + i);
  }
  return at === total ? null : "it is cut short";
}

/** A format that holds nothing but sound. */
type SoundReader = Extract<Format["reader"], "mp3" | "flac" | "ogg">;

/** Decodes a file of sound slice by slice. */
export async function readSound(file: WindowedFile, reader: SoundReader, sink: Sink): Promise<Unpacked> {
  switch (reader) {
    case "mp3":
      return unpack(new (await import("mpg123-decoder")).MPEGDecoder(), file.slices(), sink);
    case "flac":
      return unpackFlac(file, sink);
    case "ogg":
      return unpackOgg(file, sink);
    default:
      return reader satisfies never;
  }
}

/** Decoded sound, or why it cannot be decoded. */
type DecodedSound = { readonly ok: true; readonly sound: Sound } | { readonly ok: false; readonly reason: string };

/** Collects all that `read` decodes, at its declared length. */
async function collected(read: (sink: Sink) => Promise<Unpacked>): Promise<DecodedSound> {
  const parts: (readonly Float32Array[])[] = [];
  const unpacked = await read((channels) => parts.push(channels));
  if (!unpacked.ok) return unpacked;
  const [first, ...rest] = (parts[0] ?? []).map((_, i) => joined(parts.map((part) => part[i] ?? new Float32Array(0))));
  if (first === undefined) return no("it has no channels");
  return { ok: true, sound: withLength({ rate: unpacked.rate, channels: [first, ...rest] }, unpacked.samples) };
}

/** The sound of a film or of a container of films: decoded where it is Opus, otherwise silence of its length. */
async function decodeTrack(path: string): Promise<DecodedSound> {
  try {
    using input = openInput(path, [MP4, QTFF, WEBM]);
    const track = await input.getPrimaryAudioTrack();
    if (track === null) return no("it has no track of sound");
    if (track.codec === "opus") return await collected((sink) => unpackOpus(track, sink));
    const length = Math.round((await track.computeDuration()) * track.sampleRate);
    return { ok: true, sound: { rate: track.sampleRate, channels: [new Float32Array(length)] } };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}

const MAX_BYTES = 100 * 1024 * 1024;

/**
 * Decodes a sound file fully. Sound without a decoder here, such as AAC, becomes silence of its length; a caller that
 * needs the original copies its coded packets.
 */
export async function decodeSoundFile(path: string): Promise<DecodedSound> {
  return withFile(path, async (file) => {
    if (file.size > MAX_BYTES) return no(`it is larger than ${MAX_BYTES} bytes`);
    const head = await file.read({ at: 0, size: 4096 });
    const format = await sniff(new Uint8Array(head.buffer, head.byteOffset, head.byteLength));
    if ("reason" in format) return no(format.reason);
    switch (format.reader) {
      case "wav":
        return decodeWav(await readFile(path));
      case "mp3":
      case "flac":
      case "ogg": {
        const { reader } = format;
        return collected((sink) => readSound(file, reader, sink));
      }
      case "iso":
      case "webm":
        return decodeTrack(path);
      default:
        return no(`${format.contentType} holds no sound`);
    }
  });
}
