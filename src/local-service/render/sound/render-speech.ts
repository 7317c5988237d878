import type { RenderRequest, VoiceProfile } from "../contract.ts";
import { hashOf } from "../random.ts";
import { inputError } from "../render-error.ts";
import { encodeMp3 } from "./mp3.ts";
import { speak } from "./speech.ts";
import { encodeWav } from "./wav.ts";

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
