import type { MediaFile } from "./contract.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

const MAX_SIDE = 4096;
const MAX_RATIO = 4;
const SHORT_SIDE: Readonly<Record<string, number>> = {
  "360p": 360,
  "480p": 480,
  "540p": 540,
  "720p": 720,
  "768p": 768,
  "1080p": 1080,
  "1440p": 1440,
  "4k": 2160,
  "2160p": 2160,
};

export function videoSize(input: Readonly<Record<string, unknown>>, like: MediaFile | undefined): Size {
  const short = SHORT_SIDE[String(input.resolution ?? "720p").toLowerCase()] ?? 720;
  const ratio = ratioOf(input.aspect_ratio, like, 16 / 9);
  return capped(ratio >= 1 ? short * ratio : short, ratio >= 1 ? short : short / ratio, 2);
}

/**
 * Returns the size of an image. The resolutions `1K`, `2K` and `4K` set the area, and others such as `720p` set the
 * shorter side.
 */
export function imageSize(input: Readonly<Record<string, unknown>>, like: MediaFile | undefined): Size {
  const resolution = String(input.resolution ?? "1K").toLowerCase();
  const ratio = ratioOf(input.aspect_ratio, like, 1);
  const squares = /^(\d(?:\.\d)?)k$/.exec(resolution);
  if (squares === null && resolution in SHORT_SIDE) return videoSize(input, like);
  const side = 1024 * Math.min(4, Number(squares?.[1] ?? 1));
  return capped(side * Math.sqrt(ratio), side / Math.sqrt(ratio), 8);
}

export function ratioOf(aspect: unknown, like: MediaFile | undefined, otherwise: number): number {
  const match = /^(\d+(?:\.\d+)?)[:x/](\d+(?:\.\d+)?)$/.exec(String(aspect ?? ""));
  const named = match ? Number(match[1]) / Number(match[2]) : 0;
  const found =
    named > 0 && Number.isFinite(named) ? named : like?.width && like.height ? like.width / like.height : otherwise;
  return Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, found));
}

function capped(width: number, height: number, step: number): Size {
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height));
  const round = (side: number) => Math.max(64, Math.round((side * scale) / step) * step);
  return { width: round(width), height: round(height) };
}

export interface Scene {
  readonly prompt: string;
  readonly frames: number;
}

export const DEFAULT_MS = 5000;

export function customShotsMs({ shot_type, multi_prompt }: Readonly<Record<string, unknown>>): number | null {
  if (shot_type !== "customize" || !Array.isArray(multi_prompt) || multi_prompt.length === 0) return null;
  return multi_prompt.reduce<number>((sum, shot) => sum + readShot(shot).durationMs, 0);
}

/** Returns the scenes of `multi_prompt`, scaled so that together they last `frames` frames. */
export function storyboardOf(input: Readonly<Record<string, unknown>>, frames: number): readonly [Scene, ...Scene[]] {
  const shots = Array.isArray(input.multi_prompt) ? input.multi_prompt.map(readShot).slice(0, frames) : [];
  const total = shots.reduce((sum, shot) => sum + shot.durationMs, 0);
  let used = 0;
  let elapsed = 0;
  const scenes = shots.map(({ prompt, durationMs }) => {
    elapsed += durationMs;
    const end = Math.round((elapsed / total) * frames);
    const scene = { prompt, frames: end - used };
    used = end;
    return scene;
  });
  const [first, ...rest] = scenes.filter((scene) => scene.frames > 0);
  return first === undefined ? [{ prompt: String(input.prompt ?? ""), frames }] : [first, ...rest];
}

function readShot(shot: unknown): { readonly prompt: string; readonly durationMs: number } {
  const { prompt, duration_ms: duration } = (shot ?? {}) as { prompt?: unknown; duration_ms?: unknown };
  return {
    prompt: String(prompt ?? ""),
    durationMs: typeof duration === "number" && duration > 0 ? duration : DEFAULT_MS,
  };
}
