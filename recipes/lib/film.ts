/** Joins clips and adds sound, in local tasks. The encoded video is copied without re-encoding. */
import { registerAacEncoder } from "@mediabunny/aac-encoder";
import {
  ALL_FORMATS,
  AudioSampleSink,
  AudioSampleSource,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  FilePathSource,
  FilePathTarget,
  Input,
  type InputAudioTrack,
  type InputVideoTrack,
  Mp4OutputFormat,
  Output,
} from "mediabunny";

const AAC_BITRATE = 128_000;
let registered = false;

interface Clip {
  readonly path: string;
  readonly input: Input;
  readonly video: InputVideoTrack;
  readonly audio: InputAudioTrack | null;
  readonly seconds: number;
}

/** Joins clips in order; they must have the same codecs and size. Keeps the sound if every clip has sound. */
export async function joinClips(paths: readonly string[], target: string): Promise<{ readonly seconds: number }> {
  const clips = await Promise.all(paths.map(openClip));
  const [first] = clips;
  if (first === undefined) throw new Error("There are no clips to join.");
  for (const clip of clips) await checkSameCoding(first, clip);
  const output = newFilm(target);
  const pictures = new EncodedVideoPacketSource((await first.video.getCodec())!);
  output.addVideoTrack(pictures);
  const codec = (await first.audio?.getCodec()) ?? null;
  const hasSound = codec !== null && clips.every((clip) => clip.audio !== null);
  const sound = hasSound ? new EncodedAudioPacketSource(codec) : null;
  if (sound !== null) output.addAudioTrack(sound);
  await output.start();
  let at = 0;
  for (const clip of clips) {
    await Promise.all([
      copyPackets(clip.video, pictures, { at, isFirst: clip === first }),
      sound === null ? null : copyPackets(clip.audio!, sound, { at, isFirst: clip === first }),
    ]);
    at += clip.seconds;
  }
  await output.finalize();
  for (const { input } of clips) input.dispose();
  return { seconds: at };
}

/** Replaces a film's sound. If the new sound is longer than the video, its end is cut. */
export async function withSound(
  film: string,
  soundFile: string,
  target: string,
): Promise<{ readonly seconds: number }> {
  if (!registered) registerAacEncoder();
  registered = true;
  const clip = await openClip(film);
  const voice = new Input({ source: new FilePathSource(soundFile), formats: ALL_FORMATS });
  const track = await voice.getPrimaryAudioTrack();
  if (track === null) throw new Error(`${soundFile} contains no audio.`);
  const output = newFilm(target);
  const pictures = new EncodedVideoPacketSource((await clip.video.getCodec())!);
  output.addVideoTrack(pictures);
  const sound = new AudioSampleSource({ codec: "aac", bitrate: AAC_BITRATE });
  output.addAudioTrack(sound);
  await output.start();
  await Promise.all([
    copyPackets(clip.video, pictures, { at: 0, isFirst: true }),
    encodeSound(track, sound, clip.seconds),
  ]);
  await output.finalize();
  clip.input.dispose();
  voice.dispose();
  return { seconds: clip.seconds };
}

function newFilm(target: string): Output {
  return new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target: new FilePathTarget(target) });
}

async function openClip(path: string): Promise<Clip> {
  const input = new Input({ source: new FilePathSource(path), formats: ALL_FORMATS });
  const video = await input.getPrimaryVideoTrack();
  if (video === null) throw new Error(`${path} contains no video.`);
  const audio = await input.getPrimaryAudioTrack();
  return { path, input, video, audio, seconds: await video.computeDuration() };
}

async function checkSameCoding(first: Clip, clip: Clip): Promise<void> {
  const [is, was] = await Promise.all([codingOf(clip), codingOf(first)]);
  if (is !== was) throw new Error(`${clip.path} is ${is}. All clips must be like the first one: ${was}.`);
}

async function codingOf({ video }: Clip): Promise<string> {
  return `${await video.getCodec()} ${await video.getCodedWidth()} × ${await video.getCodedHeight()}`;
}

/** Copies a track's packets, shifted by `at` seconds. All clips use the decoder configuration of the first clip. */
async function copyPackets(
  track: InputVideoTrack | InputAudioTrack,
  into: EncodedVideoPacketSource | EncodedAudioPacketSource,
  { at, isFirst }: { readonly at: number; readonly isFirst: boolean },
): Promise<void> {
  const decoderConfig = await track.getDecoderConfig();
  let meta = isFirst && decoderConfig !== null ? { decoderConfig } : undefined;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const moved = packet.clone({ timestamp: Math.max(0, packet.timestamp) + at });
    // Each source gets the configuration of its own kind, from its track.
    await (into as EncodedVideoPacketSource).add(moved, meta as EncodedVideoChunkMetadata | undefined);
    meta = undefined;
  }
}

async function encodeSound(track: InputAudioTrack, into: AudioSampleSource, seconds: number): Promise<void> {
  for await (const sample of new AudioSampleSink(track).samples(0, seconds)) {
    await into.add(sample);
    sample.close();
  }
  into.close();
}
