import { AsyncLocalStorage } from "node:async_hooks";
import { requireFfmpeg } from "./abilities.ts";
import { FilmError } from "./film-error.ts";
import { inputArgs, MOST_PIXELS } from "./input-args.ts";
import { runProgram } from "./run-program.ts";

/** Milliseconds. It takes a tenth of a second, and seconds where other films are coded on all cores. */
const TIMEOUT_MS = 30_000;

/** Seconds of a film or sound that is read, unless its step says more. */
export const MOST_SECONDS = 7200;

const bounds = new AsyncLocalStorage<number>();

/** Does work that reads films and sounds of so many seconds at most. */
export function readingAtMost<T>(seconds: number | undefined, work: () => T): T {
  return seconds === undefined ? work() : bounds.run(seconds, work);
}

export function mostSeconds(): number {
  return bounds.getStore() ?? MOST_SECONDS;
}

/** A file costs what its clock says, which may be a day in a kilobyte. */
export function tooLong(name: string, why: string): FilmError {
  const cure = `where that is right, give the step mostSeconds above ${mostSeconds()}`;
  return new FilmError("CLIP_TOO_LONG", `${name} ${why}; ${cure}`);
}

/** What a file holds, as ffprobe says it. */
export interface Probed {
  readonly path: string;
  /** Length of pictures, or of sound where there are none; 0 for a picture. */
  readonly seconds: number;
  /** By its clock, from which it is shown. */
  readonly begins: number;
  readonly video: ProbedVideo | null;
  readonly audio: ProbedAudio | null;
}

export interface ProbedVideo {
  readonly codec: string;
  /** Pixels as they are shown: turned, and with square pixels. */
  readonly width: number;
  readonly height: number;
  /** Frames a second; 0 for a picture. */
  readonly fps: number;
  /** Degrees by which a player turns it: 0, 90, 180 or 270. */
  readonly rotation: number;
  readonly seconds: number;
  readonly isStill: boolean;
}

export interface ProbedAudio {
  readonly codec: string;
  readonly sampleRate: number;
  readonly channels: number;
  readonly seconds: number;
}

interface Stream {
  readonly codec_type?: string;
  readonly codec_name?: string;
  readonly width?: number;
  readonly height?: number;
  readonly sample_aspect_ratio?: string;
  readonly avg_frame_rate?: string;
  readonly r_frame_rate?: string;
  readonly duration?: string;
  readonly sample_rate?: string;
  readonly channels?: number;
  readonly tags?: { readonly rotate?: string; readonly DURATION?: string };
  readonly side_data_list?: readonly { readonly rotation?: number }[];
  readonly disposition?: { readonly attached_pic?: number };
}

const SHOWN =
  "format=duration,start_time,format_name:stream=codec_type,codec_name,width,height,sample_aspect_ratio,avg_frame_rate,r_frame_rate,duration,sample_rate,channels:stream_tags=rotate,DURATION:stream_side_data=rotation:stream_disposition=attached_pic";

interface ProbeOptions {
  /** How errors call it. Default: its path. */
  readonly name?: string;
  readonly signal?: AbortSignal | undefined;
  /** False for what was made here, which may be longer than what it was made of. Default true. */
  readonly isForeign?: boolean;
}

/** Reads what a file holds. @throws FilmError for one that holds neither pictures nor sound, or is too long */
export async function probe(
  path: string,
  { name = path, signal, isForeign = true }: ProbeOptions = {},
): Promise<Probed> {
  const { probePath } = await requireFfmpeg();
  const input = await inputArgs(path).catch((error: unknown) => {
    throw error instanceof FilmError ? new FilmError(error.code, `${name}: ${error.message}`) : error;
  });
  const args = ["-v", "error", "-of", "json", "-show_entries", SHOWN, ...input];
  const { exitCode, stdout, stderr } = await runProgram(probePath, args, { timeoutMs: TIMEOUT_MS, signal });
  const damaged = (why: string) => new FilmError("CLIP_DAMAGED", `${name} is damaged: ${why}`);
  if (exitCode !== 0) throw damaged(plainError(stderr, path));
  const said = shownIn(stdout);
  if (said === null) throw damaged("it has more streams than any film");
  const streams = said.streams ?? [];
  const pictures = streams.find(
    ({ codec_type, disposition }) => codec_type === "video" && disposition?.attached_pic !== 1,
  );
  const sound = streams.find(({ codec_type }) => codec_type === "audio");
  const whole = Number(said.format?.duration ?? 0) || 0;
  const isStill = /_pipe$/.test(said.format?.format_name ?? "");
  const video = pictures === undefined ? null : videoFacts(pictures, isStill ? 0 : whole, isStill);
  const audio = sound === undefined ? null : audioFacts(sound, whole);
  if (video === null && audio === null) throw damaged("it holds neither pictures nor sound");
  const pixels = video === null ? 1 : video.width * video.height;
  // The decoder says no size of what it does not decode.
  if (!(pixels > 0 && pixels <= MOST_PIXELS))
    throw damaged(`its pictures have no size, or more than ${MOST_PIXELS / 1e6} million pixels`);
  const seconds = video === null ? audio!.seconds : video.seconds;
  if (!isStill && !(seconds > 0)) throw damaged("it has no length");
  const longest = Math.max(seconds, audio?.seconds ?? 0);
  if (isForeign && longest > mostSeconds()) throw tooLong(name, `is ${Math.round(longest)} s long`);
  return { path, seconds, begins: Number(said.format?.start_time ?? 0) || 0, video, audio };
}

interface Shown {
  readonly streams?: readonly Stream[];
  readonly format?: { readonly duration?: string; readonly start_time?: string; readonly format_name?: string };
}

/** Null where it is so much that its beginning was not kept. */
function shownIn(stdout: string): Shown | null {
  try {
    return JSON.parse(stdout) as Shown;
  } catch {
    return null;
  }
}

/** The last thing that the program said, without addresses in memory and paths. */
export function plainError(stderr: string, path?: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.replace(/^\[[^\]]*\] /, "").trim())
    .filter((line) => line !== "");
  const last = lines.at(-1) ?? "no reason was given";
  const plain = path === undefined ? last : last.replaceAll(`file:${path}`, "it").replaceAll(path, "it");
  return plain.replace(/^it: /, "").slice(0, 300);
}

function videoFacts(stream: Stream, whole: number, isStill: boolean): ProbedVideo {
  const turned = Number(
    stream.side_data_list?.find(({ rotation }) => rotation !== undefined)?.rotation ??
      -Number(stream.tags?.rotate ?? 0),
  );
  const rotation = (((Math.round(-turned / 90) * 90) % 360) + 360) % 360;
  const [wide = 1, high = 1] = (stream.sample_aspect_ratio ?? "1:1").split(":").map(Number);
  const aspect = wide > 0 && high > 0 ? wide / high : 1;
  const [width, height] = [Math.round((stream.width ?? 0) * aspect), stream.height ?? 0];
  const isAside = rotation % 180 !== 0;
  return {
    codec: stream.codec_name ?? "unknown",
    width: isAside ? height : width,
    height: isAside ? width : height,
    fps: isStill ? 0 : ratio(stream.avg_frame_rate) || ratio(stream.r_frame_rate),
    rotation,
    seconds: isStill ? 0 : lengthOf(stream) || whole,
    isStill,
  };
}

function audioFacts(stream: Stream, whole: number): ProbedAudio {
  return {
    codec: stream.codec_name ?? "unknown",
    sampleRate: Number(stream.sample_rate ?? 0),
    channels: stream.channels ?? 0,
    seconds: lengthOf(stream) || whole,
  };
}

/** Matroska says it as a tag, `00:00:02.500000000`. */
function lengthOf({ duration, tags }: Stream): number {
  if (duration !== undefined) return Number(duration) || 0;
  const [hours = 0, minutes = 0, seconds = 0] = (tags?.DURATION ?? "").split(":").map(Number);
  return hours * 3600 + minutes * 60 + seconds || 0;
}

function ratio(text: string | undefined): number {
  const [over = 0, under = 1] = (text ?? "0/1").split("/").map(Number);
  return under > 0 && Number.isFinite(over / under) ? over / under : 0;
}
