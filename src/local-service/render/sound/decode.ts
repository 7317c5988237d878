import { createReadStream } from "node:fs";
import {
  AudioSampleSink,
  type EncodedPacket,
  EncodedPacketSink,
  FilePathSource,
  Input,
  type InputAudioTrack,
  type InputTrack,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from "mediabunny";
import { inputError, type MediaFile } from "../contract.ts";
import { endsOf, type Format, missingEnd, sniff } from "../probe/formats.ts";
import { joined, type Sound, withLength } from "./sound.ts";

const MAX_SECONDS = 20 * 60;
/** Number of samples to assume for a damaged frame. */
const SAMPLES_PER_FRAME = 1152;

interface Decoded {
  readonly channelData: readonly Float32Array[];
  readonly sampleRate: number;
  readonly samplesDecoded: number;
  readonly errors: readonly unknown[];
}

interface SoundDecoder {
  readonly ready: Promise<void>;
  decode(slice: Uint8Array): Decoded | Promise<Decoded>;
  flush?(): Promise<Decoded>;
  free(): void;
}

type Sink = (channels: readonly Float32Array[]) => void;

type Slices = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Length of a track. `samples` is the number of samples per channel. */
interface Length {
  readonly rate: number;
  readonly samples: number;
}

async function unpack(decoder: SoundDecoder, slices: Slices, sink: Sink): Promise<Length> {
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
      if (samples > MAX_SECONDS * rate) throw new Error(`the audio is longer than ${MAX_SECONDS / 60} minutes`);
    }
    if (decoder.flush) take(await decoder.flush());
  } finally {
    decoder.free();
  }
  if (samples === 0) throw new Error("none of the frames can be decoded");
  if (faults * SAMPLES_PER_FRAME > samples * 0.1) throw new Error(`${faults} of the frames are damaged`);
  return { rate, samples };
}

/** Opens a file. An error that occurs between two reads does not end the thread, but makes the next read fail. */
export function openInput(path: string): Input {
  const source = new FilePathSource(path, { handleUnhandledError: () => undefined });
  return new Input({ source, formats: [MP4, QTFF, WEBM, OGG, WAVE] });
}

async function unpackFlac(path: string, head: Buffer, sink: Sink): Promise<Length> {
  const { FLACDecoder } = await import("@wasm-audio-decoders/flac");
  const found = await unpack(new FLACDecoder(), createReadStream(path), sink);
  if (head.toString("latin1", 0, 4) !== "fLaC") return found;
  const stated = (head.readUInt8(21) & 15) * 2 ** 32 + head.readUInt32BE(22);
  // The decoder omits a silent last frame, because that frame is only a few bytes long.
  if (stated > 0 && found.samples < stated - head.readUInt16BE(10)) throw new Error("it is truncated");
  return { ...found, samples: stated || found.samples };
}

/**
 * Reads a file's audio track. If there is no decoder for it, as for AAC, it is treated as silence of the same length.
 */
async function readTrack(path: string, sink: Sink): Promise<Length> {
  using input = openInput(path);
  const track = await input.getPrimaryAudioTrack();
  if (track === null) throw new Error("the file has no audio track");
  if (track.codec === "opus") {
    const coded = (await packetsOf(track)).map(({ data }) => data);
    const { rate } = await unpack(await opusDecoder(track), coded, sink);
    return { rate, samples: Math.round((await track.computeDuration()) * rate) };
  }
  if (track.codec?.startsWith("pcm-")) {
    for await (using sample of new AudioSampleSink(track).samples()) {
      const channels = Array.from({ length: sample.numberOfChannels }, (_, planeIndex) => {
        const channel = new Float32Array(sample.numberOfFrames);
        sample.copyTo(channel, { planeIndex, format: "f32-planar" });
        return channel;
      });
      sink(channels);
    }
  }
  return { rate: track.sampleRate, samples: Math.round((await track.computeDuration()) * track.sampleRate) };
}

async function opusDecoder(track: InputAudioTrack): Promise<SoundDecoder> {
  const { OpusDecoder } = await import("opus-decoder");
  const head = (await track.getDecoderConfig())?.description;
  if (!(head instanceof Uint8Array)) throw new Error("the Opus header is missing");
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const channels = view.getUint8(9);
  const preSkip = view.getUint16(10, true);
  // With more than two channels, the header also maps streams to channels.
  const [streamCount, coupledStreamCount, channelMappingTable] =
    view.getUint8(18) === 0
      ? [1, channels - 1, channels === 1 ? [0] : [0, 1]]
      : [view.getUint8(19), view.getUint8(20), [...head.subarray(21, 21 + channels)]];
  const decoder = new OpusDecoder({ channels, preSkip, streamCount, coupledStreamCount, channelMappingTable });
  return { ready: decoder.ready, decode: (packet) => decoder.decodeFrame(packet), free: () => decoder.free() };
}

export async function packetsOf(track: InputTrack): Promise<EncodedPacket[]> {
  const packets: EncodedPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet);
  return packets;
}

export async function readSound(path: string, reader: Format["reader"], sink: Sink): Promise<Length> {
  switch (reader) {
    case "mp3":
      return unpack(new (await import("mpg123-decoder")).MPEGDecoder(), createReadStream(path), sink);
    case "flac":
      return unpackFlac(path, (await endsOf(path)).head, sink);
    case "ogg": {
      const { head } = await endsOf(path);
      const start = head.subarray(0, 64);
      if (start.includes("OpusHead")) return readTrack(path, sink);
      if (start.includes("\u007fFLAC")) return unpackFlac(path, head, sink);
      const { OggVorbisDecoder } = await import("@wasm-audio-decoders/ogg-vorbis");
      return unpack(new OggVorbisDecoder(), createReadStream(path), sink);
    }
    case "demuxer":
      return readTrack(path, sink);
    case "canvas":
      throw new Error("the file contains no audio");
    default:
      return reader satisfies never;
  }
}

const MAX_BYTES = 100 * 1024 * 1024;

export async function decodeSound(path: string): Promise<Sound> {
  const file = await endsOf(path);
  if (file.sizeBytes > MAX_BYTES) throw new Error(`the file is larger than ${MAX_BYTES} bytes`);
  const format = await sniff(file);
  const missing = missingEnd(file, format);
  if (missing !== null) throw new Error(missing);
  const parts: (readonly Float32Array[])[] = [];
  const { rate, samples } = await readSound(path, format.reader, (channels) => parts.push(channels));
  const [first, ...rest] = (parts[0] ?? []).map((_, i) => joined(parts.map((part) => part[i] ?? new Float32Array(0))));
  return withLength({ rate, channels: [first ?? new Float32Array(0), ...rest] }, samples);
}

export async function loadSound({ path }: MediaFile, field: string): Promise<Sound> {
  try {
    return await decodeSound(path);
  } catch (error) {
    throw inputError(field, `this audio cannot be decoded: ${error instanceof Error ? error.message : error}`);
  }
}
