import { requireFfmpeg } from "../ffmpeg/abilities.ts";
import { videoEncoder } from "../ffmpeg/encoders.ts";
import type { ProbedAudio } from "../ffmpeg/probe.ts";
import { isPlain } from "../ffmpeg/shown.ts";
import type { Clip } from "./clip.ts";
import { fitFilter } from "./fit.ts";
import { ALIKE_SECONDS } from "./length.ts";
import { rateOf } from "./rate.ts";
import { pixelsOf } from "./size.ts";

export const SAMPLE_RATE = 48_000;

/** Converts any audio to one form that starts with the pictures. */
export const PLAIN_SOUND = `aresample=${SAMPLE_RATE}:async=1:first_pts=0,aformat=sample_fmts=fltp:channel_layouts=stereo`;

export const SOUND_ARGS: readonly string[] = ["-c:a", "aac", "-b:a", "192k", "-ar", String(SAMPLE_RATE)];

/** Arguments for writing films: the best encoder here, playable while loading. */
export async function filmArgs(): Promise<{ readonly args: readonly string[]; readonly encoder: string }> {
  const { name, args } = videoEncoder(await requireFfmpeg());
  const form = ["-pix_fmt", "yuv420p", ...COLORS, "-movflags", "+faststart"];
  return { args: ["-c:v", name, ...args, ...form], encoder: name };
}

const COLORS = [
  ...["-color_range", "tv", "-colorspace", "bt709"],
  ...["-color_primaries", "bt709", "-color_trc", "bt709"],
];

/** Arguments that keep a film's audio, or convert it to what MP4 players support. */
export function soundOf({ audio }: { readonly audio: ProbedAudio | null }): readonly string[] {
  return ["-map", "0:a:0?", ...(/^(?:aac|mp3)$/.test(audio?.codec ?? "aac") ? ["-c:a", "copy"] : SOUND_ARGS)];
}

/**
 * Arguments that copy the pictures of a film with this duration. Re-encodes them if the duration differs, MP4 players
 * do not support them, or their colours differ from those of films made here.
 */
export async function picturesOf({ seconds, video }: Clip, shall: number): Promise<readonly string[]> {
  const isFit = /^(?:h264|hevc|av1|mpeg4)$/.test(video.codec) && isPlain(video);
  if (isFit && Math.abs(shall - seconds) < ALIKE_SECONDS)
    return ["-map", "0:V:0", "-c:v", "copy", "-movflags", "+faststart"];
  const rate = rateOf(video.fps);
  const held = `tpad=stop_mode=clone:stop_duration=${Math.max(0, shall - seconds) + 1}`;
  const whole = fitFilter(video, pixelsOf(undefined, undefined, video), { fit: "pad", label: "p" });
  const filter = `[0:V:0]fps=${rate.text}:start_time=0,${held},trim=end_frame=${Math.round(shall * rate.fps)},${whole}[pictures]`;
  return ["-filter_complex", filter, "-map", "[pictures]", ...(await filmArgs()).args, "-r", rate.text];
}
