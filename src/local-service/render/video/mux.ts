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
import { openInput, packetsOf } from "../sound/decode.ts";
import { joined, type Sound, toRate, withLength } from "../sound/sound.ts";
import type { EncodedPictures } from "./h264.ts";

export interface CodedSound {
  readonly config: AudioDecoderConfig;
  readonly packets: readonly EncodedPacket[];
  readonly durationMs: number;
}

export async function readCodedSound(path: string): Promise<CodedSound | null> {
  using input = openInput(path);
  const track = await input.getPrimaryAudioTrack();
  const config = await track?.getDecoderConfig();
  if (track?.codec !== "aac" || !config) return null;
  const packets = await packetsOf(track);
  return packets.length === 0 ? null : { config, packets, durationMs: (await track.computeDuration()) * 1000 };
}

/** Frames and sound of a video file. The last frame stays on screen until `durationSeconds`. */
export interface Movie {
  readonly fps: number;
  readonly durationSeconds: number;
  readonly pictures: EncodedPictures;
  readonly sound: Sound | CodedSound | null;
}

/** Writes an MP4 whose bytes depend only on the movie. */
export async function muxMovie(movie: Movie): Promise<Uint8Array> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const video = new EncodedVideoPacketSource("avc");
  // Without a stated frame rate, the muxer uses a fine time scale, so the last frame can end at any time.
  output.addVideoTrack(video);
  const addSound = movie.sound && soundTrack(output, movie.sound, movie.durationSeconds);
  await output.start();
  // The file contains packets in the order in which they are added, so the tracks are added one after the other.
  await addFrames(video, movie);
  await addSound?.();
  await output.finalize();
  return withoutDates(Buffer.from(target.buffer!));
}

async function addFrames(
  video: EncodedVideoPacketSource,
  { fps, durationSeconds, pictures: { frames, config } }: Movie,
): Promise<void> {
  for (const [i, frame] of frames.entries()) {
    const start = i / fps;
    const length = i === frames.length - 1 ? durationSeconds - start : 1 / fps;
    await video.add(new EncodedPacket(frame.bytes, frame.isKey ? "key" : "delta", start, length), {
      decoderConfig: config,
    });
  }
  video.close();
}

const AAC_FRAME = 1024;
const AAC_RATE = 48_000;
const AAC_BITRATE = 128_000;
const CHUNK = AAC_FRAME * 32;
let registered = false;

function soundTrack(output: Output, sound: Sound | CodedSound, durationSeconds: number): () => Promise<void> {
  if ("packets" in sound) {
    const audio = new EncodedAudioPacketSource("aac");
    output.addAudioTrack(audio);
    return async () => {
      const origin = sound.packets[0]!.timestamp;
      for (const packet of sound.packets) {
        const timestamp = packet.timestamp - origin;
        if (timestamp + packet.duration > durationSeconds + 1e-6) break;
        await audio.add(packet.clone({ timestamp }), { decoderConfig: sound.config });
      }
      audio.close();
    };
  }
  if (!registered) registerAacEncoder();
  registered = true;
  const audio = new AudioSampleSource({ codec: "aac", bitrate: AAC_BITRATE });
  output.addAudioTrack(audio);
  return async () => {
    const { rate, channels } = wholeFrames(sound, durationSeconds);
    const layout = { format: "f32-planar", numberOfChannels: channels.length, sampleRate: rate } as const;
    for (let at = 0; at < channels[0].length; at += CHUNK) {
      const data = joined(channels.map((channel) => channel.subarray(at, at + CHUNK)));
      using sample = new AudioSample({ ...layout, data, timestamp: at / rate });
      await audio.add(sample);
    }
    audio.close();
  };
}

/** Cuts or pads the sound to whole AAC frames: one fewer than fit into the duration, because the encoder adds one. */
function wholeFrames(sound: Sound, durationSeconds: number): Sound {
  const [left, right] = sound.channels;
  const converted = toRate({ rate: sound.rate, channels: right ? [left, right] : [left] }, AAC_RATE);
  const frames = Math.max(1, Math.floor((durationSeconds * AAC_RATE) / AAC_FRAME) - 1);
  return withLength(converted, frames * AAC_FRAME);
}

/** Sets creation dates to zero, so that equal content gives equal bytes. */
function withoutDates(file: Buffer): Buffer {
  const index = file.subarray(0, file.indexOf("mdat"));
  for (const box of ["mvhd", "tkhd", "mdhd"]) {
    for (let at = index.indexOf(box); at >= 0; at = index.indexOf(box, at + 4)) {
      // The box begins with one byte for the version and three for flags. Then come two dates of 4 bytes each, or of 8
      // bytes in version 1.
      index.fill(0, at + 8, at + (index[at + 4] === 1 ? 24 : 16));
    }
  }
  return file;
}
