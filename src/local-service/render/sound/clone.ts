import type { VoiceProfile } from "../contract.ts";
import { type Sound, toMono } from "./sound.ts";
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
