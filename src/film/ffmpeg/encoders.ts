import type { Ffmpeg } from "./abilities.ts";
import { FilmError } from "./film-error.ts";

export interface VideoEncoder {
  readonly name: string;
  /** True if this ffmpeg encodes the same frames to the same bytes on every machine. */
  readonly isExact: boolean;
  readonly args: readonly string[];
}

/** x264's output depends on the number of threads, so this number is fixed. */
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

export const videoEncoders: readonly string[] = VIDEO.map(({ name }) => name);
