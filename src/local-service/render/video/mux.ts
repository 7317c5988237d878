import { registerAacEncoder } from "@mediabunny/aac-encoder";
import {
  AudioSample,
  AudioSampleSource,
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
} from "mediabunny";
import { toRate } from "../sound/resample.ts";
import { lengthOf, type Sound, withLength } from "../sound/sound.ts";
import type { EncodedPictures } from "./h264.ts";
import { withoutDates } from "./mp4-dates.ts";

const AAC_FRAME = 1024;
const AAC_RATE = 48_000;
const AAC_BITRATE = 128_000;
const CHUNK = AAC_FRAME * 32;

/** Everything that goes into one MP4 file. The last frame is shown until `durationSeconds`. */
export interface Movie {
  readonly fps: number;
  readonly durationSeconds: number;
  readonly pictures: EncodedPictures;
  readonly sound: Sound | null;
}

let registered = false;

/** Muxes to an MP4 with its index in front; the same movie gives the same bytes. */
export async function muxMovie(movie: Movie): Promise<Uint8Array> {
  if (!registered) registerAacEncoder();
  registered = true;
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const video = new EncodedVideoPacketSource("avc");
  // Without a frame rate the muxer keeps a fine time scale, in which the last frame can end anywhere.
  output.addVideoTrack(video);
  const sound = movie.sound === null ? null : wholeFrames(movie.sound, movie.durationSeconds);
  const audio = sound === null ? null : new AudioSampleSource({ codec: "aac", bitrate: AAC_BITRATE });
  if (audio !== null) output.addAudioTrack(audio);
  await output.start();
  await Promise.all([addFrames(video, movie), audio !== null && sound !== null ? addSound(audio, sound) : null]);
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

async function addSound(audio: AudioSampleSource, sound: Sound): Promise<void> {
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
