import { requireFfmpeg } from "../ffmpeg/abilities.ts";
import { videoEncoder } from "../ffmpeg/encoders.ts";

/** Samples a second of every sound that is made. */
export const SAMPLE_RATE = 48_000;

/** What brings any sound to one form, beginning with the pictures. */
export const PLAIN_SOUND = `aresample=${SAMPLE_RATE}:async=1:first_pts=0,aformat=sample_fmts=fltp:channel_layouts=stereo`;

export const SOUND_ARGS: readonly string[] = ["-c:a", "aac", "-b:a", "192k", "-ar", String(SAMPLE_RATE)];

/** How films are written: by the best encoder here, to be played while they load. */
export async function filmArgs(): Promise<{ readonly args: readonly string[]; readonly encoder: string }> {
  const { name, args } = videoEncoder(await requireFfmpeg());
  return { args: ["-c:v", name, ...args, "-pix_fmt", "yuv420p", "-movflags", "+faststart"], encoder: name };
}
