import { requireFfmpeg } from "../ffmpeg/abilities.ts";
import type { ProbedAudio } from "../ffmpeg/probe.ts";
import { videoEncoder } from "../ffmpeg/requirement.ts";
import { isPlain } from "../ffmpeg/shown.ts";
import type { Clip, Lasting } from "./clip.ts";
import { rateOf, wholeFilter } from "./frame.ts";
import { ALIKE_SECONDS } from "./length.ts";

export const SAMPLE_RATE = 48_000;

/** Filters that convert audio to one format, and make it start together with the video. */
export const PLAIN_SOUND = `aresample=${SAMPLE_RATE}:async=1:first_pts=0,aformat=sample_fmts=fltp:channel_layouts=stereo`;

export const SOUND_ARGS: readonly string[] = ["-c:a", "aac", "-b:a", "192k", "-ar", String(SAMPLE_RATE)];

export async function filmArgs(): Promise<{ readonly args: readonly string[]; readonly encoder: string }> {
  const { name, args } = videoEncoder(await requireFfmpeg());
  const form = ["-pix_fmt", "yuv420p", ...COLORS, "-movflags", "+faststart"];
  return { args: ["-c:v", name, ...args, ...form], encoder: name };
}

const COLORS = [
  ...["-color_range", "tv", "-colorspace", "bt709"],
  ...["-color_primaries", "bt709", "-color_trc", "bt709"],
];

/**
 * Returns the arguments for the output's audio. Audio in a common codec that already has the required length is copied.
 * Other audio is converted, then cut or padded.
 */
export function soundOf({ audio }: { readonly audio: ProbedAudio | null }, shall: number): readonly string[] {
  if (audio === null) return [];
  const isFit = /^(?:aac|mp3)$/.test(audio.codec) && Math.abs(shall - audio.seconds) < ALIKE_SECONDS;
  return ["-map", "0:a:0", ...(isFit ? ["-c:a", "copy"] : ["-af", soundFor(shall), ...SOUND_ARGS])];
}

export function soundFor(seconds: number): string {
  return `${PLAIN_SOUND},apad,atrim=end_sample=${Math.round(seconds * SAMPLE_RATE)}`;
}

export function picturesFor({ video }: Clip, seconds: number): string {
  const { text, fps } = rateOf(video.fps);
  const held = Math.max(0, seconds - video.seconds) + 1;
  // `trim` sets the end, because the filters `fps` and `xfade` add a frame at the end of a file.
  return `fps=${text}:start_time=0,tpad=stop_mode=clone:stop_duration=${held},trim=end_frame=${Math.round(seconds * fps)}`;
}

export function heldFor(clip: Lasting): string {
  return Math.abs(clip.lasts - clip.video.seconds) < ALIKE_SECONDS ? "" : `${picturesFor(clip, clip.lasts)},`;
}

/**
 * Returns ffmpeg arguments that copy the video if its length, colors and codec already fit, and encode it again
 * otherwise.
 */
export async function picturesOf(clip: Clip, shall: number): Promise<readonly string[]> {
  const { seconds, video } = clip;
  const isFit = /^(?:h264|hevc|av1|mpeg4)$/.test(video.codec) && isPlain(video);
  if (isFit && Math.abs(shall - seconds) < ALIKE_SECONDS)
    return ["-map", "0:V:0", "-c:v", "copy", "-movflags", "+faststart"];
  const filter = `[0:V:0]${picturesFor(clip, shall)},${wholeFilter(video, "p")}[pictures]`;
  return ["-filter_complex", filter, "-map", "[pictures]", ...(await filmArgs()).args, "-r", rateOf(video.fps).text];
}
