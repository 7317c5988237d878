import type { Sound } from "../../../src/local-service/render/sound/sound.ts";

/** A voice-like buzz: a falling row of harmonics that swells with every syllable, and drifts a little in pitch. */
export function buzz(hz: number, seconds: number, rate = 16_000, gain = 0.25): Sound {
  const samples = new Float32Array(Math.round(seconds * rate));
  let phase = 0;
  for (let i = 0; i < samples.length; i++) {
    const t = i / rate;
    phase += (2 * Math.PI * hz * (1 + 0.01 * Math.sin(2 * Math.PI * 3 * t))) / rate;
    const syllable = Math.max(0, Math.sin(2 * Math.PI * 2 * t)) ** 0.5;
    let value = 0;
    for (let harmonic = 1; harmonic <= 10; harmonic++) value += Math.sin(phase * harmonic) / harmonic ** 1.3;
    samples[i] = value * syllable * gain;
  }
  return { rate, channels: [samples] };
}

/** Half a second of buzz, half a second of silence, and so on. */
export function onAndOff(seconds: number, rate = 16_000): Sound {
  const sound = buzz(140, seconds, rate);
  const samples = sound.channels[0];
  for (let i = 0; i < samples.length; i++) if (Math.floor((i / rate) * 2) % 2 === 1) samples[i] = 0;
  return sound;
}
