/** Tiny valid files of every upload format, generated here or stored beside this folder. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { registerAacEncoder } from "@mediabunny/aac-encoder";
import { createCanvas } from "@napi-rs/canvas";
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
  MovOutputFormat,
  MP4,
  Mp4OutputFormat,
  OGG,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from "mediabunny";
import { encodeSound } from "../../../src/local-service/render/sound/render-speech.ts";
import { FILM } from "../../../src/local-service/start.ts";
import { buzz } from "../render/tone.ts";

export interface MediaSample {
  readonly bytes: Buffer;
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

const WIDTH = 96;
const HEIGHT = 64;
/** Pitch of the buzz in every sound, in Hz. */
export const PITCH_HZ = 160;
const RATE = 16_000;

/**
 * Reads a stored sample: one second of the same buzz at 16 kHz, written with libsndfile 1.2.2 (FLAC with 8-bit samples;
 * Vorbis and Opus in Ogg at the lowest quality). No installed program can encode these formats.
 */
const fixture = (name: string) => readFile(join(import.meta.dirname, "../fixtures", name));

function picture() {
  const canvas = createCanvas(WIDTH, HEIGHT);
  const context = canvas.getContext("2d");
  context.fillStyle = "#c02020";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = "#2040c0";
  context.fillRect(20, 10, 40, 40);
  return canvas;
}

async function written(format: OutputFormat, fill: (output: Output) => () => Promise<void>): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const add = fill(output);
  await output.start();
  await add();
  await output.finalize();
  return Buffer.from(target.buffer!);
}

/** The stub's H.264 film in a QuickTime container. */
const mov = () =>
  written(new MovOutputFormat(), (output) => {
    const video = new EncodedVideoPacketSource("avc");
    output.addVideoTrack(video);
    return async () => {
      using input = new Input({ source: new BufferSource(FILM.bytes), formats: [MP4] });
      const track = (await input.getPrimaryVideoTrack())!;
      const decoderConfig = (await track.getDecoderConfig())!;
      for await (const packet of new EncodedPacketSink(track).packets()) await video.add(packet, { decoderConfig });
    };
  });

/** Five pictures in one second as VP8, taken from a lossy WebP, with the Opus sound. */
const webm = () =>
  written(new WebMOutputFormat(), (output) => {
    const video = new EncodedVideoPacketSource("vp8");
    const audio = new EncodedAudioPacketSource("opus");
    output.addVideoTrack(video);
    output.addAudioTrack(audio);
    return async () => {
      const webp = await picture().encode("webp", 80);
      const at = webp.indexOf("VP8 ") + 8;
      const bytes = webp.subarray(at, at + webp.readUInt32LE(at - 4));
      const config = { codec: "vp8", codedWidth: WIDTH, codedHeight: HEIGHT };
      for (let i = 0; i < 5; i++) {
        await video.add(new EncodedPacket(bytes, "key", i / 5, 1 / 5), { decoderConfig: config });
      }
      await addOpus(audio);
    };
  });

async function addOpus(audio: EncodedAudioPacketSource): Promise<void> {
  using input = new Input({ source: new BufferSource(await fixture("tone-opus.ogg")), formats: [OGG] });
  const track = (await input.getPrimaryAudioTrack())!;
  const decoderConfig = (await track.getDecoderConfig())!;
  for await (const packet of new EncodedPacketSink(track).packets()) await audio.add(packet, { decoderConfig });
}

export const soundOnlyWebm = () =>
  written(new WebMOutputFormat(), (output) => {
    const audio = new EncodedAudioPacketSource("opus");
    output.addAudioTrack(audio);
    return () => addOpus(audio);
  });

/** AAC, with the brand that music players write. */
async function m4a(): Promise<Buffer> {
  registerAacEncoder();
  const sound = buzz(PITCH_HZ, 1, 48_000);
  const bytes = await written(new Mp4OutputFormat({ fastStart: "in-memory" }), (output) => {
    const source = new AudioSampleSource({ codec: "aac", bitrate: 64_000 });
    output.addAudioTrack(source);
    return async () => {
      const data = new Float32Array(sound.channels[0]);
      const format = { format: "f32-planar", numberOfChannels: 1, sampleRate: sound.rate, timestamp: 0 } as const;
      using sample = new AudioSample({ data, ...format });
      await source.add(sample);
    };
  });
  bytes.write("M4A ", 8, "latin1");
  return bytes;
}

const sound = (contentType: string, bytes: Buffer, durationMs = 1000): MediaSample => ({
  bytes,
  kind: "audio",
  contentType: `audio/${contentType}`,
  width: null,
  height: null,
  durationMs,
});

const image = (type: string, bytes: Buffer): MediaSample => ({
  bytes,
  kind: "image",
  contentType: `image/${type}`,
  width: WIDTH,
  height: HEIGHT,
  durationMs: null,
});

const film = (type: string, bytes: Buffer, width: number, height: number): MediaSample => ({
  bytes,
  kind: "video",
  contentType: `video/${type}`,
  width,
  height,
  durationMs: 1000,
});

/** Returns the samples by format name. */
export async function mediaSamples() {
  const canvas = picture();
  const wave = buzz(PITCH_HZ, 1, RATE);
  return {
    png: image("png", await canvas.encode("png")),
    jpeg: image("jpeg", await canvas.encode("jpeg", 80)),
    webp: image("webp", await canvas.encode("webp", 80)),
    gif: image("gif", await canvas.encode("gif")),
    avif: image("avif", await canvas.encode("avif")),
    mp4: film("mp4", Buffer.from(FILM.bytes), FILM.width!, FILM.height!),
    mov: film("quicktime", await mov(), FILM.width!, FILM.height!),
    webm: film("webm", await webm(), WIDTH, HEIGHT),
    wav: sound("wav", Buffer.from(await encodeSound(wave, "wav"))),
    mp3: sound("mpeg", Buffer.from(await encodeSound(wave, "mp3"))),
    m4a: sound("mp4", await m4a()),
    ogg: sound("ogg", await fixture("tone-opus.ogg")),
    vorbis: sound("ogg", await fixture("tone-vorbis.ogg")),
    flac: sound("flac", await fixture("tone.flac")),
  };
}

export type SampleName = keyof Awaited<ReturnType<typeof mediaSamples>>;
