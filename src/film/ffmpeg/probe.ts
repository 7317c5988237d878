import { AsyncLocalStorage } from "node:async_hooks";
import { basename } from "node:path";
import { exifOrientation } from "../../core/kit/media-headers.ts";
import { type Ffmpeg, requireFfmpeg, toInstall } from "./abilities.ts";
import { FilmError } from "./film-error.ts";
import { headOf, inputArgs, isPictureFormat, isStillMov, MOST_PIXELS } from "./input-args.ts";
import { runProgram } from "./run-program.ts";
import { colorsOf, type DeclaredColors, type ShownAs } from "./shown.ts";

/** Time limit for ffprobe. Probing usually takes a tenth of a second, but longer while other processes encode. */
const TIMEOUT_MS = 30_000;

export const MOST_SECONDS = 7200;

const bounds = new AsyncLocalStorage<number>();

export function readingAtMost<T>(seconds: number | undefined, work: () => T): T {
  return seconds === undefined ? work() : bounds.run(seconds, work);
}

export function mostSeconds(): number {
  return bounds.getStore() ?? MOST_SECONDS;
}

export function tooLong(name: string, why: string): FilmError {
  const cure = `if this is intended, set the step's mostSeconds above ${mostSeconds()}`;
  return new FilmError("CLIP_TOO_LONG", `${name} ${why}; ${cure}`);
}

export interface Probed {
  readonly path: string;
  /** Duration of the video or, without video, of the audio. 0 for a still image. */
  readonly seconds: number;
  /** Timestamp in the file at which playback starts, in seconds. */
  readonly begins: number;
  /** True for formats that do not state how long the last frame lasts. */
  readonly isOpenEnded: boolean;
  readonly video: ProbedVideo | null;
  readonly audio: ProbedAudio | null;
}

export interface ProbedVideo extends ShownAs {
  readonly codec: string;
  /** Width as displayed, in pixels: after rotation, and with square pixels. */
  readonly width: number;
  readonly height: number;
  /** Frames per second. 0 for a still image, or if unknown. */
  readonly fps: number;
  readonly seconds: number;
  /** True if the file states the duration of the video itself, not just that of the whole file. */
  readonly isOwnLength: boolean;
  readonly isStill: boolean;
}

export interface ProbedAudio {
  readonly codec: string;
  readonly sampleRate: number;
  readonly channels: number;
  readonly seconds: number;
}

interface Stream extends DeclaredColors {
  readonly codec_type?: string;
  readonly codec_name?: string;
  readonly width?: number;
  readonly sample_aspect_ratio?: string;
  readonly avg_frame_rate?: string;
  readonly field_order?: string;
  readonly r_frame_rate?: string;
  readonly duration?: string;
  readonly sample_rate?: string;
  readonly channels?: number;
  readonly tags?: { readonly DURATION?: string };
  readonly side_data_list?: readonly { readonly rotation?: number }[];
  readonly disposition?: { readonly attached_pic?: number };
}

const SHOWN =
  "format=duration,start_time,format_name:stream=codec_type,codec_name,width,height,sample_aspect_ratio,avg_frame_rate,field_order,duration,sample_rate,channels," +
  "pix_fmt,color_range,color_space,color_transfer,color_primaries:stream_tags=DURATION:stream_side_data=rotation:stream_disposition=attached_pic";

interface ProbeOptions {
  readonly name?: string;
  readonly signal?: AbortSignal | undefined;
  /** True to limit the file's duration; false for a file that ffmpeg has just written here. Default true. */
  readonly isForeign?: boolean;
}

export async function probe(
  path: string,
  { name = path, signal, isForeign = true }: ProbeOptions = {},
): Promise<Probed> {
  const ffmpeg = await requireFfmpeg();
  const input = await inputArgs(path).catch((error: unknown) => {
    if (!(error instanceof FilmError) || name === basename(path)) throw error;
    throw new FilmError(error.code, `${name}: ${error.message}`);
  });
  const args = ["-v", "error", "-of", "json", "-show_entries", SHOWN, ...input];
  const { exitCode, stdout, stderr } = await runProgram(ffmpeg.probePath, args, { timeoutMs: TIMEOUT_MS, signal });
  const damaged = (why: string) => new FilmError("CLIP_DAMAGED", `${name} is damaged: ${why}`);
  if (exitCode !== 0) throw damaged(plainError(stderr, path));
  const shown = shownIn(stdout);
  if (shown === null) throw damaged("it has too many streams");
  const streams = shown.streams ?? [];
  const pictures = streams.find(
    ({ codec_type, disposition }) => codec_type === "video" && disposition?.attached_pic !== 1,
  );
  const sound = streams.find(({ codec_type }) => codec_type === "audio");
  for (const stream of [pictures, sound]) if (stream !== undefined) checkDecoder(stream, ffmpeg, name);
  const { format_name: format = "", start_time: start } = shown.format ?? {};
  const whole = Number(shown.format?.duration ?? 0) || 0;
  const begins = Number(start ?? 0) || 0;
  const isStill = isPictureFormat(format) || (await isStillMov(path));
  const walked = { path, begins, format, signal };
  const video = pictures === undefined ? null : await videoFacts(pictures, isStill ? 0 : whole, isStill, walked);
  const audio = sound === undefined ? null : await audioFacts(sound, whole, walked);
  if (video === null && audio === null) throw damaged("it has neither video nor audio");
  const pixels = video === null ? 1 : video.width * video.height;
  // The size is missing if ffmpeg cannot decode the image.
  if (pixels === 0 && isStill && !isPictureFormat(format)) {
    const unread = `${name} is an AVIF image that ${ffmpeg.path} (${ffmpeg.version}) cannot read`;
    throw new FilmError("CLIP_FORMAT", `${unread}; save it as JPEG or PNG`);
  }
  if (!(pixels > 0 && pixels <= MOST_PIXELS))
    throw damaged(`its images have no dimensions or exceed ${MOST_PIXELS / 1e6} million pixels`);
  const seconds = video === null ? audio!.seconds : video.seconds;
  if (!isStill && !(seconds > 0)) throw damaged("it has no duration");
  const longest = Math.max(seconds, audio?.seconds ?? 0);
  if (isForeign && longest > mostSeconds()) throw tooLong(name, `is ${Math.round(longest)} s long`);
  return { path, seconds, begins, isOpenEnded: /matroska/.test(format), video, audio };
}

/**
 * Checks that ffmpeg has a decoder for the stream. Without this check, the file would be reported as damaged.
 * @throws FilmError
 */
function checkDecoder({ codec_name: codec }: Stream, { decoders, path, version }: Ffmpeg, name: string): void {
  if (codec === undefined || decoders.has(codec)) return;
  const built = `${path} (${version}) was built without a decoder for this format`;
  throw new FilmError("CLIP_FORMAT", `${name} is encoded as ${codec}, but ${built}. ${toInstall()}`);
}

interface Shown {
  readonly streams?: readonly Stream[];
  readonly format?: { readonly duration?: string; readonly start_time?: string; readonly format_name?: string };
}

/**
 * Parses ffprobe's output. Returns null if it is not JSON, for example because the start of very long output was cut
 * off.
 */
function shownIn(stdout: string): Shown | null {
  try {
    return JSON.parse(stdout) as Shown;
  } catch {
    return null;
  }
}

export function plainError(stderr: string, path?: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.replace(/^\[[^\]]*\] /, "").trim())
    .filter((line) => line !== "");
  const last = lines.at(-1) ?? "no reason was given";
  const plain = path === undefined ? last : last.replaceAll(`file:${path}`, "it").replaceAll(path, "it");
  return plain.replace(/^it: /, "").slice(0, 300);
}

interface Walked {
  readonly path: string;
  readonly begins: number;
  readonly format: string;
  readonly signal: AbortSignal | undefined;
}

async function videoFacts(stream: Stream, whole: number, isStill: boolean, walked: Walked): Promise<ProbedVideo> {
  const rotation = stream.side_data_list?.find((data) => data.rotation !== undefined)?.rotation ?? 0;
  const turn = isPictureFormat(walked.format) ? exifOrientation(await headOf(walked.path)) : 1;
  const [wide = 1, high = 1] = (stream.sample_aspect_ratio ?? "1:1").split(":").map(Number);
  const aspect = wide > 0 && high > 0 ? wide / high : 1;
  const [width, height] = [Math.round((stream.width ?? 0) * aspect), stream.height ?? 0];
  const isAside = turn >= 5 || Math.round(rotation / 90) % 2 !== 0;
  const ownSeconds = lengthOf(stream);
  return {
    codec: stream.codec_name ?? "unknown",
    width: isAside ? height : width,
    height: isAside ? width : height,
    fps: isStill ? 0 : ratio(stream.avg_frame_rate),
    seconds: isStill ? 0 : ownSeconds || whole || (await packetSeconds("V:0", walked)),
    isOwnLength: ownSeconds > 0,
    isStill,
    turn,
    isInterlaced: /^[tb]{2}$/.test(stream.field_order ?? ""),
    colors: colorsOf(stream, isStill),
  };
}

/** Formats for which ffprobe guesses the duration or counts only the last recording in the file. */
const GUESSED = /^(?:mp3|aac|amr|ogg)$/;
/** Maximum difference, in seconds, between measured and stated duration that is attributed to encoder padding. */
const MOST_GUESSED_OFF = 0.1;

async function audioFacts(stream: Stream, whole: number, walked: Walked): Promise<ProbedAudio> {
  const stated = lengthOf(stream) || whole;
  const heard = stated > 0 && !GUESSED.test(walked.format) ? stated : await packetSeconds("a:0", walked);
  return {
    codec: stream.codec_name ?? "unknown",
    sampleRate: Number(stream.sample_rate ?? 0),
    channels: stream.channels ?? 0,
    seconds: Math.abs(heard - stated) > MOST_GUESSED_OFF ? heard : stated,
  };
}

async function packetSeconds(stream: "V:0" | "a:0", { path, begins, signal }: Walked): Promise<number> {
  const { end, count } = await walkPackets(path, stream, { begins, signal });
  return count === 0 ? 0 : end - Math.max(0, begins);
}

/** Returns a stream's duration in seconds. Matroska states it in a tag such as `00:00:02.500000000`. */
function lengthOf({ duration, tags }: Stream): number {
  if (duration !== undefined) return Number(duration) || 0;
  const [hours = 0, minutes = 0, seconds = 0] = (tags?.DURATION ?? "").split(":").map(Number);
  return hours * 3600 + minutes * 60 + seconds || 0;
}

function ratio(text: string | undefined): number {
  const [over = 0, under = 1] = (text ?? "0/1").split("/").map(Number);
  return under > 0 && Number.isFinite(over / under) ? over / under : 0;
}

const PACKETS_TIMEOUT_MS = 20_000;

interface Packets {
  readonly first: number;
  readonly end: number;
  readonly count: number;
  readonly longest: number;
  readonly fault: string | null;
}

export async function walkPackets(
  path: string,
  stream: "V:0" | "a:0",
  { begins, signal }: { readonly begins: number; readonly signal?: AbortSignal | undefined },
): Promise<Packets> {
  const { probePath } = await requireFfmpeg();
  const entries = [
    "-select_streams",
    stream,
    "-show_entries",
    "packet=pts_time,dts_time,duration_time,flags",
    "-of",
    "csv=p=0",
  ];
  let [first, last, ends, rest] = [Number.POSITIVE_INFINITY, 0, 0, ""];
  let [count, shown, longest, delay, joint] = [0, begins, 0, 0, 0];
  const onOutput = (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [presented = "", decoded, duration, flags = ""] = line.split(",");
      // MPEG-PS states few presentation times, and ffprobe adds empty lines.
      const stated = presented === "N/A" ? Number(decoded) + delay : Number.parseFloat(presented);
      if (flags.includes("D") || !Number.isFinite(stated)) continue;
      delay = stated - Number(decoded) || 0;
      // Recordings joined in one Ogg file each have their own clock.
      if (stream === "a:0" && stated + joint < shown - 1) joint = ends - stated;
      const at = stated + joint;
      first = Math.min(first, at);
      count += 1;
      longest = Math.max(longest, at - shown, Number(duration) || 0);
      shown = Math.max(shown, at);
      last = Math.max(last, at);
      ends = Math.max(ends, at + (Number(duration) || 0));
    }
  };
  const args = ["-v", "error", ...entries, ...(await inputArgs(path))];
  const { exitCode, stderr } = await runProgram(probePath, args, { timeoutMs: PACKETS_TIMEOUT_MS, signal, onOutput });
  const isCut = /partial file|prematurely|truncat|corrupt|invalid/i.test(stderr);
  // Recorders do not state the last packet's duration, so use the average.
  const end = ends > last || count < 2 ? ends : last + (last - first) / (count - 1);
  return { first, end, count, longest, fault: exitCode !== 0 || isCut ? stderr : null };
}
