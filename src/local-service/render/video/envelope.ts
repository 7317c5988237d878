import type { CodedSound } from "../sound/packets.ts";
import { type Sound, toMono } from "../sound/sound.ts";

/** How loud the sound is at each frame, from 0 (silence) to 1 (its loudest), rising fast and falling a little slower. */
export function loudnessPerFrame(sound: Sound, fps: number, frames: number): Float32Array {
  const mono = toMono(sound);
  const levels = new Float32Array(frames);
  for (let frame = 0; frame < frames; frame++) {
    const start = Math.floor((frame * sound.rate) / fps);
    const end = Math.min(mono.length, Math.floor(((frame + 1) * sound.rate) / fps));
    let energy = 0;
    for (let i = start; i < end; i++) energy += (mono[i] ?? 0) ** 2;
    levels[frame] = Math.sqrt(energy / Math.max(1, end - start));
  }
  return smoothed(levels);
}

/** The same for coded sound, judged by how many bits each stretch needed: quiet ones need few. */
export function effortPerFrame(sound: CodedSound, fps: number, frames: number): Float32Array {
  const sizes = sound.packets.map((packet) => packet.bytes.length);
  const least = Math.min(...sizes);
  const levels = new Float32Array(frames);
  for (const { bytes, start } of sound.packets) {
    const frame = Math.floor(start * fps);
    if (frame >= 0 && frame < frames) levels[frame] = Math.max(levels[frame] ?? 0, bytes.length - least);
  }
  return smoothed(levels.map((level) => level / 1000));
}

function smoothed(levels: Float32Array): Float32Array {
  const loud = [...levels].sort((a, b) => a - b)[Math.floor(levels.length * 0.92)] || 1;
  let held = 0;
  return levels.map((level) => {
    const target = level < 0.002 ? 0 : Math.min(1, level / loud);
    held += (target - held) * (target > held ? 0.85 : 0.5);
    return held < 0.03 ? 0 : held;
  });
}
