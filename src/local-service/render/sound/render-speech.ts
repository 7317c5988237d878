import { registerMp3Encoder } from "@mediabunny/mp3-encoder";
import { AudioSample, AudioSampleSource, BufferTarget, Mp3OutputFormat, Output, WavOutputFormat } from "mediabunny";
import { inputError, type RenderRequest, type VoiceProfile } from "../contract.ts";
import { hashOf } from "../random.ts";
import { loadSound } from "./decode.ts";
import { composeMusic } from "./music.ts";
import { activeLoudness, joined, lengthOf, medianPitch, resampleBy, type Sound, toMono, withLength } from "./sound.ts";
import { NATURAL_PITCH, speak } from "./speech.ts";

const MAX_SECONDS = 60;

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

const MP3_BITRATE = 96_000;
let registered = false;

/** MP3 contains only the first channel. */
export async function encodeSound({ rate, channels }: Sound, format: "wav" | "mp3"): Promise<Uint8Array> {
  if (!registered) registerMp3Encoder();
  registered = true;
  const target = new BufferTarget();
  const isMp3 = format === "mp3";
  const output = new Output({ format: isMp3 ? new Mp3OutputFormat() : new WavOutputFormat(), target });
  const source = new AudioSampleSource(isMp3 ? { codec: "mp3", bitrate: MP3_BITRATE } : { codec: "pcm-s16" });
  output.addAudioTrack(source);
  await output.start();
  const used = isMp3 ? channels.slice(0, 1) : channels;
  const layout = { format: "f32-planar", numberOfChannels: used.length, sampleRate: rate, timestamp: 0 } as const;
  using sample = new AudioSample({ ...layout, data: joined(used) });
  await source.add(sample);
  await output.finalize();
  return new Uint8Array(target.buffer!);
}

const DEFAULT_VOICE: VoiceProfile = { base: "slt", pitchHz: null, loudnessDb: null, label: "default" };

export async function renderSpeech(
  request: RenderRequest,
  onProgress: (fraction: number) => void,
): Promise<Uint8Array> {
  const { input, seed, index } = request;
  if (typeof input.text !== "string") throw inputError("text", "is required");
  const sound = await speak(input.text, {
    voice: request.voice ?? DEFAULT_VOICE,
    speed: within(input.speed, 0.5, 2, 1),
    stability: within(input.stability, 0, 1, 1),
    seed: hashOf(seed, index),
    onProgress,
  });
  return encodeSound(sound, String(input.output_format).includes("mp3") ? "mp3" : "wav");
}

/** Changes the input sound to the voice's pitch. Without an input sound, composes music for the prompt. */
export async function renderSound({ input, media, voice, seed, index }: RenderRequest): Promise<Uint8Array> {
  const [file] = media.audio ?? [];
  if (file === undefined) {
    const seconds = within(input.duration_ms, 1, MAX_MUSIC_MS, 5_000) / 1000;
    return encodeSound(composeMusic(String(input.text ?? input.prompt ?? ""), hashOf(seed, index), seconds), "wav");
  }
  const sound = await loadSound(file, "audio");
  const spoken = voice === null ? null : medianPitch(toMono(sound), sound.rate);
  if (voice === null || spoken === null) return encodeSound(sound, "wav");
  const moved = resampleBy(toMono(sound), (voice.pitchHz ?? NATURAL_PITCH[voice.base]) / spoken);
  // A raised voice is shorter, so silence fills the rest.
  return encodeSound(withLength({ rate: sound.rate, channels: [moved] }, lengthOf(sound)), "wav");
}

const MAX_MUSIC_MS = 600_000;

function within(value: unknown, low: number, high: number, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
}
