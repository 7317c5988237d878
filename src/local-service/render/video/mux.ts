import { registerAacEncoder } from "@mediabunny/aac-encoder";
import {
  AudioSample,
  AudioSampleSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
} from "mediabunny";
import type { CodedSound } from "../sound/packets.ts";
import { toRate } from "../sound/resample.ts";
import { lengthOf, type Sound, withLength } from "../sound/sound.ts";
import type { EncodedPictures } from "./h264.ts";

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
  readonly pictures: EncodedPictures;
  readonly sound: Sound | CodedSound | null;
}

let registered = false;

/** Muxes to an MP4 with its index in front; the output is deterministic. */
export async function muxMovie(movie: Movie): Promise<Uint8Array> {
  if (!registered) registerAacEncoder();
  registered = true;
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const video = new EncodedVideoPacketSource("avc");
  // Without a frame rate the muxer keeps a fine time scale, in which the last frame can end anywhere.
  output.addVideoTrack(video);
  const addSound = movie.sound === null ? null : soundTrack(output, movie.sound, movie.durationSeconds);
  await output.start();
  await Promise.all([addFrames(video, movie), addSound?.()]);
  await output.finalize();
  if (target.buffer === null) throw new Error("the muxer made no file");
  return withoutDates(new Uint8Array(target.buffer));
}

async function addFrames(video: EncodedVideoPacketSource, movie: Movie): Promise<void> {
  const { fps, durationSeconds } = movie;
  const { frames, config } = movie.pictures;
  for (const [i, frame] of frames.entries()) {
    const start = i / fps;
    const length = i === frames.length - 1 ? durationSeconds - start : 1 / fps;
    const packet = new EncodedPacket(frame.bytes, frame.isKey ? "key" : "delta", start, length);
    await video.add(packet, i === 0 ? { decoderConfig: config } : undefined);
  }
  video.close();
}

/** Adds the track now and returns the function that fills it once the output has started. */
function soundTrack(output: Output, sound: Sound | CodedSound, durationSeconds: number): () => Promise<void> {
  if ("packets" in sound) {
    const source = new EncodedAudioPacketSource(sound.codec);
    output.addAudioTrack(source);
    return () => copySound(source, sound, durationSeconds);
  }
  const source = new AudioSampleSource({ codec: "aac", bitrate: AAC_BITRATE });
  output.addAudioTrack(source);
  return () => encodeSound(source, wholeFrames(sound, durationSeconds));
}

async function copySound(source: EncodedAudioPacketSource, sound: CodedSound, durationSeconds: number): Promise<void> {
  const origin = sound.packets[0]?.start ?? 0;
  let isFirst = true;
  for (const { bytes, start, length } of sound.packets) {
    const at = start - origin;
    if (at + length > durationSeconds + 1e-6) break;
    const packet = new EncodedPacket(bytes, "key", at, length);
    await source.add(packet, isFirst ? { decoderConfig: sound.config } : undefined);
    isFirst = false;
  }
  source.close();
}

async function encodeSound(audio: AudioSampleSource, sound: Sound): Promise<void> {
  const channels = sound.channels.length;
  for (let at = 0; at < lengthOf(sound); at += CHUNK) {
    const length = Math.min(CHUNK, lengthOf(sound) - at);
    const data = new Float32Array(length * channels);
    for (const [i, channel] of sound.channels.entries()) data.set(channel.subarray(at, at + length), i * length);
    const timestamp = at / sound.rate;
    const sample = new AudioSample({
      data,
      format: "f32-planar",
      numberOfChannels: channels,
      sampleRate: sound.rate,
      timestamp,
    });
    await audio.add(sample);
    sample.close();
  }
  audio.close();
}

/** At the AAC rate, at most stereo, and no longer than the pictures: the encoder adds one frame of its own in front. */
function wholeFrames(sound: Sound, durationSeconds: number): Sound {
  const [left, right] = sound.channels;
  const converted = toRate({ rate: sound.rate, channels: right ? [left, right] : [left] }, AAC_RATE);
  const frames = Math.max(1, Math.floor((durationSeconds * AAC_RATE) / AAC_FRAME) - 1);
  return withLength(converted, frames * AAC_FRAME);
}
