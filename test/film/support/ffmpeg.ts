import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs ffmpeg for test inputs and measurements, and returns its messages. */
export async function ffmpeg(...args: readonly string[]): Promise<string> {
  const all = ["-hide_banner", "-nostdin", "-y", ...args];
  const { stdout, stderr } = await run("ffmpeg", all, { maxBuffer: 64 * 1024 * 1024 });
  return stdout + stderr;
}

/** Draws what a source of ffmpeg's own makes. */
export const draw = (path: string, source: string, ...more: readonly string[]): Promise<string> =>
  ffmpeg("-v", "error", "-f", "lavfi", "-i", source, ...more, path);

export interface ClipSettings {
  readonly size?: string;
  readonly fps?: number | string;
  readonly seconds?: number;
  /** Frequency of the clip's tone in Hz; null for a clip without sound. */
  readonly tone?: number | null;
  readonly codec?: readonly string[];
  readonly more?: readonly string[];
}

/** Draws a clip of moving patterns with a tone. */
export async function drawClip(path: string, settings: ClipSettings = {}): Promise<string> {
  const { size = "320x240", fps = 25, seconds = 1, tone = 440, codec = [], more = [] } = settings;
  const sound = tone === null ? [] : ["-f", "lavfi", "-i", `sine=f=${tone}:d=${seconds}:r=44100`];
  await draw(path, `testsrc2=s=${size}:r=${fps}:d=${seconds}`, ...sound, "-pix_fmt", "yuv420p", ...codec, ...more);
  return path;
}
