import { findFfmpeg } from "./abilities.ts";
import { videoEncoder } from "./encoders.ts";
import { ffmpegForAll } from "./requirement.ts";
import { TONE_MAPPING } from "./shown.ts";

/** Describes this machine's ffmpeg in one line, or else what is missing and how to install it. */
export async function ffmpegSummary(): Promise<{ readonly found: string } | { readonly lacks: string }> {
  const lacks = await ffmpegForAll();
  const ffmpeg = await findFfmpeg();
  if (lacks !== null || ffmpeg === null) return { lacks: lacks ?? "ffmpeg cannot be started" };
  const lacking = TONE_MAPPING.filter((filter) => !ffmpeg.filters.has(filter));
  const hdr = lacking.length === 0 ? "" : `; refuses HDR clips because it lacks ${lacking.join(" and ")}`;
  return { found: `${ffmpeg.version} (${ffmpeg.path}), video encoder ${videoEncoder(ffmpeg).name}${hdr}` };
}
