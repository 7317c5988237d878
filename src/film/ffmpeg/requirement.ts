import type { TaskOptions } from "../../core/define/index.ts";
import { type Ffmpeg, findFfmpeg, toInstall, whyMissing } from "./abilities.ts";
import { FilmError } from "./film-error.ts";
import { TONE_MAPPING } from "./shown.ts";

interface VideoEncoder {
  readonly name: string;
  /** True if the encoder produces the same bytes for the same frames on every machine. */
  readonly isExact: boolean;
  readonly args: readonly string[];
}

/** Number of x264 threads. It is fixed, because x264's output depends on it. */
const THREADS = "8";

const VIDEO: readonly VideoEncoder[] = [
  {
    name: "libx264",
    isExact: true,
    args: ["-preset", "veryfast", "-crf", "18", "-threads:v", THREADS, "-x264-params", "cpu-independent=1"],
  },
  { name: "libopenh264", isExact: true, args: ["-b:v", "8M", "-threads:v", "1"] },
  { name: "h264_videotoolbox", isExact: false, args: ["-q:v", "65", "-allow_sw", "1"] },
  { name: "h264_mf", isExact: false, args: ["-b:v", "8M"] },
  { name: "mpeg4", isExact: true, args: ["-q:v", "3", "-threads:v", "1"] },
];

export function videoEncoder({ encoders, path }: Pick<Ffmpeg, "encoders" | "path">): VideoEncoder {
  const found = VIDEO.find(({ name }) => encoders.has(name));
  if (found !== undefined) return found;
  const missing = `${path} has none of these encoders: ${videoEncoders.join(", ")}`;
  throw new FilmError("FFMPEG_MISSING", missing);
}

const videoEncoders: readonly string[] = VIDEO.map(({ name }) => name);

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

/**
 * Returns a function that checks whether ffmpeg supports these needs. Calls with the same needs return the same
 * function, so that the check runs only once.
 */
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

const ffmpegForAll: Requirement = ffmpegWith(...(Object.keys(SPECIAL) as readonly Need[]));

/** Describes this machine's ffmpeg in one line, or says what is missing and how to install it. */
export async function ffmpegSummary(): Promise<{ readonly found: string } | { readonly lacks: string }> {
  const lacks = await ffmpegForAll();
  const ffmpeg = await findFfmpeg();
  if (lacks !== null || ffmpeg === null) return { lacks: lacks ?? "ffmpeg cannot be started" };
  const lacking = TONE_MAPPING.filter((filter) => !ffmpeg.filters.has(filter));
  const hdr =
    lacking.length === 0 ? "" : `; HDR clips cannot be used, because this build lacks ${lacking.join(" and ")}`;
  return { found: `${ffmpeg.version} (${ffmpeg.path}), video encoder ${videoEncoder(ffmpeg).name}${hdr}` };
}
