import { createCanvas } from "@napi-rs/canvas";
import { inputError, type RenderRequest } from "../contract.ts";
import { loadPicture } from "../probe/probe-image.ts";
import { videoSize } from "../size.ts";
import { loadSound } from "../sound/decode.ts";
import { durationMsOf, joinSounds, type Sound, toMono } from "../sound/sound.ts";
import { createFrameEncoder } from "./h264.ts";
import { type CodedSound, muxMovie, readCodedSound } from "./mux.ts";
import { createTalker } from "./talk.ts";

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

/** The same for coded sound, estimated from bits per packet: quiet ones need few. */
export function effortPerFrame(sound: CodedSound, fps: number, frames: number): Float32Array {
  const sizes = sound.packets.map((packet) => packet.byteLength);
  const least = Math.min(...sizes);
  const levels = new Float32Array(frames);
  for (const { byteLength, timestamp } of sound.packets) {
    const frame = Math.floor(timestamp * fps);
    if (frame >= 0 && frame < frames) levels[frame] = Math.max(levels[frame] ?? 0, byteLength - least);
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

const FPS = 24;
const MAX_MS = 300_000;

/** The given face, talking with the given sound; as long as the sound unless `duration_ms` says otherwise. */
export async function renderAvatar(
  request: RenderRequest,
  onProgress: (fraction: number) => void,
): Promise<Uint8Array> {
  const { input, media } = request;
  const field = media.start_image?.[0] ? "start_image" : "images";
  const file = media[field]?.[0];
  if (file === undefined) throw inputError("start_image", "an avatar needs a face");
  const sound = await soundOf(request);
  const durationMs =
    typeof input.duration_ms === "number" && input.duration_ms > 0
      ? input.duration_ms
      : Math.round("packets" in sound ? sound.durationMs : durationMsOf(sound));
  if (durationMs > MAX_MS) throw inputError("audio", `longer than ${MAX_MS / 1000} seconds`);
  const size = videoSize(input, file);
  const talk = createTalker(await loadPicture(file, field), size, String(input.prompt ?? ""), durationMs / 1000);
  const frames = Math.max(1, Math.ceil((durationMs * FPS) / 1000 - 1e-6));
  const loudness = "packets" in sound ? effortPerFrame(sound, FPS, frames) : loudnessPerFrame(sound, FPS, frames);
  const encoder = createFrameEncoder(size, FPS);
  const context = createCanvas(size.width, size.height).getContext("2d");
  const pictures = async () => {
    for (let frame = 0; frame < frames; frame++) {
      talk(context, frame / FPS, loudness[frame] ?? 0);
      await encoder.add(context.canvas.data());
      if (frame % 6 === 0) onProgress((frame / frames) * 0.95);
    }
    return encoder.finish();
  };
  try {
    return await muxMovie({ fps: FPS, durationSeconds: durationMs / 1000, pictures, sound });
  } finally {
    encoder.dispose();
  }
}

/** Concatenates the given sounds; a single AAC track is copied without decoding. */
async function soundOf({ media }: RenderRequest): Promise<Sound | CodedSound> {
  const files = ["audio", "audios"].flatMap((field) => (media[field] ?? []).map((file) => ({ field, file })));
  const [only] = files;
  if (only && files.length === 1 && /\/(mp4|x-m4a|quicktime)$/.test(only.file.contentType)) {
    const coded = await readCodedSound(only.file.path).catch(() => null);
    if (coded !== null) return coded;
  }
  const sounds: Sound[] = [];
  for (const { field, file } of files) sounds.push(await loadSound(file, field));
  const [first, ...rest] = sounds;
  if (first === undefined) throw inputError("audio", "an avatar needs a sound");
  return joinSounds(first, rest);
}
