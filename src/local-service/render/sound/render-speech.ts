import { registerMp3Encoder } from "@mediabunny/mp3-encoder";
import { AudioSample, AudioSampleSource, BufferTarget, Mp3OutputFormat, Output } from "mediabunny";
import { inputError, type RenderRequest, type VoiceProfile } from "../contract.ts";
import { hashOf } from "../random.ts";
import { lengthOf, type Sound, toMono } from "./sound.ts";
import { speak } from "./speech.ts";
import { encodeWav } from "./wav.ts";
import { activeLoudness, medianPitch } from "./yin.ts";

const MAX_SECONDS = 60;

/** Hears pitch and loudness in a sample (its first minute) and names the stock voice that lies nearest. */
export function profileOf(sample: Sound, label: string): VoiceProfile {
  const heard = toMono(sample).subarray(0, sample.rate * MAX_SECONDS);
  const pitch = medianPitch(heard, sample.rate);
  const loudness = activeLoudness(heard, sample.rate);
  return {
    base: nearestBase(pitch),
    pitchHz: pitch === null ? null : Math.round(pitch * 10) / 10,
    loudnessDb: loudness === null ? null : Math.round(loudness * 10) / 10,
    label,
  };
}

function nearestBase(pitchHz: number | null): VoiceProfile["base"] {
  if (pitchHz === null || pitchHz >= 145) return "slt";
  return pitchHz >= 117 ? "awb" : "rms";
}

const BITRATE = 96_000;
let registered = false;

/** One MP3 file of the first channel. */
export async function encodeMp3(sound: Sound): Promise<Uint8Array> {
  if (!registered) registerMp3Encoder();
  registered = true;
  const target = new BufferTarget();
  const output = new Output({ format: new Mp3OutputFormat(), target });
  const source = new AudioSampleSource({ codec: "mp3", bitrate: BITRATE });
  output.addAudioTrack(source);
  await output.start();
  const data = new Float32Array(sound.channels[0].subarray(0, lengthOf(sound)));
  const sample = new AudioSample({
    data,
    format: "f32-planar",
    numberOfChannels: 1,
    sampleRate: sound.rate,
    timestamp: 0,
  });
  await source.add(sample);
  sample.close();
  await output.finalize();
  if (target.buffer === null) throw new Error("the encoder made no MP3");
  return new Uint8Array(target.buffer);
}

const DEFAULT_VOICE: VoiceProfile = { base: "slt", pitchHz: null, loudnessDb: null, label: "default" };

/** Speech as WAV, or MP3 when `output_format` names it. */
export async function renderSpeech(
  request: RenderRequest,
  onProgress: (fraction: number) => void,
): Promise<Uint8Array> {
  const { input, seed, index } = request;
  if (typeof input.text !== "string") throw inputError("text", "is required");
  const sound = speak(input.text, {
    voice: request.voice ?? DEFAULT_VOICE,
    speed: within(input.speed, 0.5, 2, 1),
    stability: within(input.stability, 0, 1, 1),
    seed: hashOf(seed, index),
    onProgress,
  });
  return String(input.output_format ?? "wav").includes("mp3") ? encodeMp3(sound) : encodeWav(sound);
}

function within(value: unknown, low: number, high: number, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
}
