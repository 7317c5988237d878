import type { TaskOptions } from "../../core/define/index.ts";
import { findFfmpeg, toInstall, whyMissing } from "./abilities.ts";
import { videoEncoders } from "./encoders.ts";

export type Requirement = NonNullable<TaskOptions["requires"]>;

const COMMON: readonly string[] = [
  "scale crop pad overlay fps tpad trim concat xfade fade format setsar setpts settb split gblur lutyuv zoompan thumbnail",
  "hflip vflip transpose sidedata setparams colorspace colorchannelmixer aresample aformat apad atrim asetpts anullsrc acrossfade afade amix adelay volume",
].flatMap((line) => line.split(" "));

const SPECIAL = {
  loudness: ["loudnorm", "sidechaincompress", "asplit", "alimiter"],
  lettering: ["ass", "color"],
  waves: ["showwaves", "asplit", "pan"],
  checks: ["blackdetect", "blackframe", "freezedetect", "silencedetect"],
} as const;

export type Need = keyof typeof SPECIAL;

const asked = new Map<string, Requirement>();

/** Returns the same function for the same needs, so that the needs are checked only once. */
export function ffmpegWith(...needs: readonly Need[]): Requirement {
  const key = needs.join();
  const requirement = asked.get(key) ?? (() => lackOf(needs));
  asked.set(key, requirement);
  return requirement;
}

async function lackOf(needs: readonly Need[]): Promise<string | null> {
  const ffmpeg = await findFfmpeg();
  if (ffmpeg === null) return `${await whyMissing()}. ${toInstall()}`;
  const filters = [...COMMON, ...needs.flatMap((need) => [...SPECIAL[need]])].filter(
    (filter) => !ffmpeg.filters.has(filter),
  );
  const encoders = videoEncoders.some((encoder) => ffmpeg.encoders.has(encoder)) ? [] : [videoEncoders.join(" or ")];
  const sound = ffmpeg.encoders.has("aac") ? [] : ["aac"];
  const lacking = [
    ...filters.map((filter) => `the filter ${filter}`),
    ...[...encoders, ...sound].map((encoder) => `the encoder ${encoder}`),
  ];
  if (lacking.length === 0) return null;
  return `${ffmpeg.path} (${ffmpeg.version}) was built without ${lacking.join(", ")}. ${toInstall()}`;
}

export const ffmpegForAll: Requirement = ffmpegWith(...(Object.keys(SPECIAL) as readonly Need[]));
