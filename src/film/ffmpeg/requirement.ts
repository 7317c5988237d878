import type { TaskOptions } from "../../core/define/index.ts";
import { findFfmpeg, toInstall, whyMissing } from "./abilities.ts";
import { videoEncoders } from "./encoders.ts";

export type Requirement = NonNullable<TaskOptions["requires"]>;

/** Filters that every ffmpeg of the last years has, unless it was built without. */
const COMMON: readonly string[] = [
  "scale crop pad overlay fps tpad trim concat xfade fade format setsar setpts settb split gblur lutyuv zoompan thumbnail",
  "hflip vflip transpose sidedata setparams colorspace colorchannelmixer aresample aformat apad atrim asetpts anullsrc acrossfade afade amix adelay volume",
].flatMap((line) => line.split(" "));

/** What functions need beside these. */
const SPECIAL = {
  loudness: ["loudnorm", "sidechaincompress", "asplit", "alimiter"],
  lettering: ["ass", "color"],
  waves: ["showwaves", "asplit", "pan"],
  checks: ["blackdetect", "blackframe", "freezedetect", "silencedetect"],
} as const;

/** What a step needs of ffmpeg beyond what all need. */
export type Need = keyof typeof SPECIAL;

const asked = new Map<string, Requirement>();

/** Looks whether ffmpeg is here and has what a step needs. The same needs are the same function, which is asked once. */
export function ffmpegWith(...needs: readonly Need[]): Requirement {
  const key = needs.join();
  const requirement = asked.get(key) ?? (() => lackOf(needs));
  asked.set(key, requirement);
  return requirement;
}

/** What ffmpeg here lacks for these needs, with what to do; null: nothing. */
async function lackOf(needs: readonly Need[]): Promise<string | null> {
  const ffmpeg = await findFfmpeg();
  if (ffmpeg === null) return `${await whyMissing()}. ${toInstall()}`;
  const filters = [...COMMON, ...needs.flatMap((need) => [...SPECIAL[need]])].filter((one) => !ffmpeg.filters.has(one));
  const encoders = videoEncoders.some((one) => ffmpeg.encoders.has(one)) ? [] : [videoEncoders.join(" or ")];
  const sound = ffmpeg.encoders.has("aac") ? [] : ["aac"];
  const lacking = [
    ...filters.map((one) => `the filter ${one}`),
    ...[...encoders, ...sound].map((one) => `the encoder ${one}`),
  ];
  if (lacking.length === 0) return null;
  return `${ffmpeg.path} (${ffmpeg.version}) was built without ${lacking.join(", ")}. ${toInstall()}`;
}

/** {@link ffmpegWith} of every need, for `doctor`. */
export const ffmpegForAll: Requirement = ffmpegWith(...(Object.keys(SPECIAL) as readonly Need[]));
