import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { probe } from "../../../src/film/ffmpeg/probe.ts";
import { ffmpeg } from "./ffmpeg.ts";

/** Measures the loudness of a file with ffmpeg's meter, in LUFS and dBTP. */
export async function loudnessOf(path: string): Promise<{ readonly integrated: number; readonly truePeak: number }> {
  const said = await ffmpeg("-i", path, "-map", "0:a:0", "-af", "ebur128=peak=true", "-f", "null", "-");
  const summary = said.slice(said.lastIndexOf("Summary:"));
  const number = (pattern: RegExp) => Number(pattern.exec(summary)?.[1]);
  return { integrated: number(/I:\s+(\S+) LUFS/), truePeak: number(/Peak:\s+(\S+) dBFS/) };
}

/** Finds the black or silent stretches of a file, as `start-end`. */
export async function gapsOf(
  path: string,
): Promise<{ readonly black: readonly string[]; readonly silent: readonly string[] }> {
  const { audio } = await probe(path);
  const sound = audio === null ? [] : ["-af", "silencedetect=noise=-60dB:d=0.15"];
  const said = await ffmpeg("-i", path, "-vf", "blackdetect=d=0.05:pix_th=0.05", ...sound, "-f", "null", "-");
  return {
    black: [...said.matchAll(/black_start:(\S+) black_end:(\S+)/g)].map(([, start, end]) => `${start}-${end}`),
    silent: [...said.matchAll(/silence_start: (\S+)[\s\S]*?silence_end: (\S+)/g)].map(
      ([, start, end]) => `${start}-${end}`,
    ),
  };
}

/** Duration of a file's pictures according to the number of frames, because a header may include longer sound. */
export async function pictureSeconds(path: string): Promise<number> {
  const { video } = await probe(path);
  const said = await ffmpeg("-i", path, "-map", "0:V:0", "-c", "copy", "-f", "null", "-");
  return Number(/frame=\s*(\d+)(?![\s\S]*frame=)/.exec(said)?.[1]) / video!.fps;
}

/** Mean red, green and blue of a frame. */
export async function colorAt(
  path: string,
  seconds: number,
  crop = "iw:ih:0:0",
): Promise<readonly [number, number, number]> {
  // ffmpeg scales and converts in one step by another matrix.
  const filter = `crop=${crop},format=gbrp,scale=1:1:flags=area,format=rgb24`;
  const frame = ["-v", "error", "-ss", String(seconds), "-i", path, "-frames:v", "1", "-vf", filter];
  const { stdout } = await promisify(execFile)("ffmpeg", [...frame, "-f", "rawvideo", "-"], { encoding: "buffer" });
  return [stdout[0]!, stdout[1]!, stdout[2]!];
}

/** A hash of a file's coded pictures, as they are. */
export const picturesOf = (path: string): Promise<string> =>
  ffmpeg("-v", "error", "-i", path, "-map", "0:v", "-c", "copy", "-f", "md5", "-");
