import type { StockVoice } from "../model.ts";
import { inputObject, MAX_SOUND_BYTES, mediaReference, visibleText } from "../schema-parts.ts";
import { builtIn, text } from "./define.ts";

const PER_CHARACTER_MICROS = 30;
const LEAST_SPEECH_MICROS = 1_000;
const CLONE_MICROS = 500_000;

const stockVoice = (voiceId: string, name: string, base: StockVoice["base"], gender: string, accent: string) => ({
  voiceId: `voice_${voiceId}`,
  name,
  base,
  labels: { gender, accent, language: "en" },
});

/** Stock voices, available to every account; their ids never change. */
export const STOCK_VOICES: readonly StockVoice[] = [
  stockVoice("1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01", "Sally", "slt", "female", "american"),
  stockVoice("2b7d9a10-6c42-4e8b-9d21-7e3f4b5c6d02", "Robert", "rms", "male", "american"),
  stockVoice("3c8eab21-7d53-4f9c-8e32-8f405c6d7e03", "Alan", "awb", "male", "scottish"),
  stockVoice("4d9fbc32-8e64-40ad-9f43-90516d7e8f04", "Kevin", "kal", "male", "american"),
];

export const speech = builtIn({
  id: "speech-1",
  modality: "audio",
  name: "Speech 1",
  description: "Says an English text in a stock voice or a cloned one.",
  prices: "$0.03 per 1000 characters, at least $0.001",
  schema: inputObject(["text", "voice_id"], {
    text: visibleText(5000, "What is said."),
    voice_id: {
      type: "string",
      description: "A voice of GET /models/speech-1/voices, or outputs[].voice_id of a clone.",
    },
    speed: { type: "number", minimum: 0.7, maximum: 1.2, default: 1 },
    stability: { type: "number", minimum: 0, maximum: 1 },
    language: { type: "string", enum: ["en"], default: "en" },
  }),
  kind: "speech",
  voices: STOCK_VOICES,
  priceMicros: (work) => Math.max(LEAST_SPEECH_MICROS, [...text(work, "text")].length * PER_CHARACTER_MICROS),
  renderMs: (work) => 1_000 + 2 * text(work, "text").length,
});

export const voiceClone = builtIn({
  id: "voice-clone-1",
  modality: "audio",
  name: "Voice clone 1",
  description: "Makes a voice from a sample of speech.",
  prices: "$0.50 per voice",
  schema: inputObject(["audio", "name"], {
    audio: mediaReference({
      media_type: "audio",
      role: "audio_input",
      max_file_size_bytes: MAX_SOUND_BYTES,
      min_duration_ms: 1_000,
      max_duration_ms: 300_000,
      description: "One person speaking.",
    }),
    name: visibleText(100, "What the voice is called."),
  }),
  kind: "voice",
  priceMicros: () => CLONE_MICROS,
  renderMs: () => 3_000,
});
