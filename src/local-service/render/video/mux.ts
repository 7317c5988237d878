import { registerAacEncoder } from "@mediabunny/aac-encoder";
import {
  AudioSample,
  AudioSampleSource,
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MP4,
  Mp4OutputFormat,
  NullTarget,
  Output,
  QTFF,
} from "mediabunny";
import { joined, type Sound, toRate, withLength } from "../sound/sound.ts";
import type { EncodedPictures } from "./h264.ts";

/** A coded packet of sound. Times are in seconds. */
export interface SoundPacket {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly length: number;
}

/** AAC, to be copied into another file without loss. */
export interface CodedSound {
  readonly config: AudioDecoderConfig;
  readonly packets: readonly SoundPacket[];
  readonly durationMs: number;
}

/** Extracts the AAC track of an MP4 or M4A file; null when it has none. */
export async function readCodedSound(bytes: Uint8Array): Promise<CodedSound | null> {
  using input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF] });
  const track = await input.getPrimaryAudioTrack();
  const config = await track?.getDecoderConfig();
  if (track?.codec !== "aac" || !config) return null;
  const packets: SoundPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) {
    packets.push({ bytes: packet.data, start: packet.timestamp, length: packet.duration });
  }
  return { config, packets, durationMs: (await track.computeDuration()) * 1000 };
}

const CONTAINERS = new Set(["moov", "trak", "mdia"]);
const DATED = new Set(["mvhd", "tkhd", "mdhd"]);

/** Zeroes the creation dates of an MP4 ("unknown"), so that the same content is the same bytes. Changes `file`. */
export function withoutDates(file: Uint8Array): Uint8Array {
  clear(new DataView(file.buffer, file.byteOffset, file.byteLength), 0, file.length);
  return file;
}

function clear(view: DataView, start: number, end: number): void {
  for (let at = start; at + 8 <= end; ) {
    const size = view.getUint32(at);
    if (size < 8) return;
    const name = String.fromCharCode(...[4, 5, 6, 7].map((i) => view.getUint8(at + i)));
    if (CONTAINERS.has(name)) clear(view, at + 8, Math.min(end, at + size));
    if (DATED.has(name)) clearDates(view, at + 8);
    at += size;
  }
}

function clearDates(view: DataView, at: number): void {
  const bytes = view.getUint8(at) === 1 ? 16 : 8;
  for (let i = 0; i < bytes; i++) view.setUint8(at + 4 + i, 0);
}

const AAC_FRAME = 1024;
const AAC_RATE = 48_000;
const AAC_BITRATE = 128_000;
const CHUNK = AAC_FRAME * 32;

/** The contents of one MP4 file. The last frame is shown until `durationSeconds`. */
export interface Movie {
  readonly fps: number;
  readonly durationSeconds: number;
  /** Called once; the sound is encoded meanwhile. */
  pictures(): Promise<EncodedPictures>;
  readonly sound: Sound | CodedSound | null;
}

/** Muxes to an MP4 with its index in front; the output is deterministic. */
export async function muxMovie({ pictures, sound, ...times }: Movie): Promise<Uint8Array> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const video = new EncodedVideoPacketSource("avc");
  // Without a frame rate the muxer keeps a fine time scale, in which the last frame can end anywhere.
  output.addVideoTrack(video);
  const audio = sound === null ? null : new EncodedAudioPacketSource("aac");
  if (audio) output.addAudioTrack(audio);
  const [coded, encoded] = await Promise.all([pictures(), sound && codedSound(sound, times.durationSeconds)]);
  await output.start();
  await Promise.all([addFrames(video, coded, times), audio && encoded && copySound(audio, encoded, times)]);
  await output.finalize();
  if (target.buffer === null) throw new Error("the muxer made no file");
  return withoutDates(new Uint8Array(target.buffer));
}

type Times = Pick<Movie, "fps" | "durationSeconds">;

async function addFrames(video: EncodedVideoPacketSource, pictures: EncodedPictures, times: Times): Promise<void> {
  const { fps, durationSeconds } = times;
  const { frames, config } = pictures;
  for (const [i, frame] of frames.entries()) {
    const start = i / fps;
    const length = i === frames.length - 1 ? durationSeconds - start : 1 / fps;
    const packet = new EncodedPacket(frame.bytes, frame.isKey ? "key" : "delta", start, length);
    await video.add(packet, i === 0 ? { decoderConfig: config } : undefined);
  }
  video.close();
}

async function copySound(
  audio: EncodedAudioPacketSource,
  sound: CodedSound,
  { durationSeconds }: Times,
): Promise<void> {
  const origin = sound.packets[0]?.start ?? 0;
  for (const [i, { bytes, start, length }] of sound.packets.entries()) {
    const at = start - origin;
    if (at + length > durationSeconds + 1e-6) break;
    const packet = new EncodedPacket(bytes, "key", at, length);
    await audio.add(packet, i === 0 ? { decoderConfig: sound.config } : undefined);
  }
  audio.close();
}

let registered = false;

async function codedSound(sound: Sound | CodedSound, durationSeconds: number): Promise<CodedSound> {
  if ("packets" in sound) return sound;
  if (!registered) registerAacEncoder();
  registered = true;
  const { rate, channels } = wholeFrames(sound, durationSeconds);
  const packets: SoundPacket[] = [];
  let config: AudioDecoderConfig | undefined;
  const audio = new AudioSampleSource({
    codec: "aac",
    bitrate: AAC_BITRATE,
    onEncodedPacket({ data: bytes, timestamp: start, duration: length }, meta) {
      packets.push({ bytes, start, length });
      config ??= meta?.decoderConfig;
    },
  });
  const output = new Output({ format: new Mp4OutputFormat(), target: new NullTarget() });
  output.addAudioTrack(audio);
  await output.start();
  const total = channels[0].length;
  for (let at = 0; at < total; at += CHUNK) {
    const data = joined(channels.map((channel) => channel.subarray(at, at + CHUNK)));
    const format = { format: "f32-planar", numberOfChannels: channels.length, sampleRate: rate } as const;
    const sample = new AudioSample({ data, ...format, timestamp: at / rate });
    await audio.add(sample);
    sample.close();
  }
  await output.finalize();
  if (config === undefined) throw new Error("the encoder made no sound");
  return { config, packets, durationMs: durationSeconds * 1000 };
}

/** At the AAC rate, at most stereo, and no longer than the pictures: the encoder adds one frame of its own in front. */
function wholeFrames(sound: Sound, durationSeconds: number): Sound {
  const [left, right] = sound.channels;
  const converted = toRate({ rate: sound.rate, channels: right ? [left, right] : [left] }, AAC_RATE);
  const frames = Math.max(1, Math.floor((durationSeconds * AAC_RATE) / AAC_FRAME) - 1);
  return withLength(converted, frames * AAC_FRAME);
}
