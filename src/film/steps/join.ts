import type { MediaList, TaskContext } from "../../core/define/index.ts";
import type { Foreseen } from "../../core/plan/plan.ts";
import {
  checkBlend,
  checkOptions,
  fit,
  format,
  number,
  type Rules,
  seconds,
  size,
  someSeconds,
} from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { clipNames, filmTask, listOf, namedFiles, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Clip, type Lasting, openClip, openLasting } from "../graph/clip.ts";
import {
  EARLY,
  type Fit,
  type Format,
  fitFilter,
  frameEnds,
  type Pixels,
  pixelsOf,
  type Rate,
  rateOf,
  type Size,
  steps,
} from "../graph/frame.ts";
import { type EndsOf, foreseenLength, LENGTH, type LengthOption } from "../graph/length.ts";
import { filmArgs, PLAIN_SOUND, SAMPLE_RATE, SOUND_ARGS } from "../graph/output.ts";

/** Options for `join`. */
export interface JoinOptions extends StepFields, LengthOption {
  /** Size of the film. Default: the first clip's size or, if `format` is set, a frame with the same shorter side. */
  readonly size?: Size;
  /** Aspect ratio of the film. Default: that of `size`, or 16:9 if `size` is only a resolution such as `1080p`. */
  readonly format?: Format;
  /** How clips with a different aspect ratio fill the frame. Default `blur`. */
  readonly fit?: Fit;
  /** Frames per second. Default: the first clip's frame rate. */
  readonly fps?: number;
  /** Length of the cross-fades between clips, in seconds. Each makes the film shorter by this length. Default 0. */
  readonly fade?: number;
  /** Length of the fade from black at the start, in seconds. Default 0. */
  readonly fadeIn?: number;
  /** Length of the fade to black at the end, in seconds. Default 0. */
  readonly fadeOut?: number;
}

const JOINING: Rules = {
  size,
  format,
  fit,
  fps: number(1, 240),
  fade: seconds,
  fadeIn: seconds,
  fadeOut: seconds,
  length: LENGTH,
};

/** The value of a step that joins clips or images. */
export interface Joined {
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** When each clip starts in the film, in seconds. */
  readonly starts: readonly number[];
  /** Name of the video encoder. */
  readonly encoder: string;
}

/** The value of a `join` step. */
interface JoinedClips extends Joined {
  /**
   * What was cut or extended in clips whose video and audio end at different times. Null if nothing was cut or
   * extended.
   */
  readonly lengthNote: string | null;
}

/**
 * Joins clips in order. They may differ in resolution, frame rate, codec and rotation. If any clip has audio, clips
 * without audio get silence. If none has audio, the film has none either.
 */
export function join(task: Task, name: string, clips: MediaList<"video">, options: JoinOptions = {}) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, JOINING);
  const list = listOf(clips);
  const named = clipNames(list);
  return filmTask(
    task,
    name,
    { clips: list, ...own },
    {
      files: { film: "video" },
      version: "2",
      step,
      foresee: (input, endsOf) => foreseenJoin(input, endsOf, named),
      make: ({ clips, ...asked }, context) =>
        joinFiles(namedFiles(clips as readonly unknown[], named), asked as JoinOptions, context),
    },
  );
}

function foreseenJoin(input: unknown, endsOf: EndsOf, named: ReturnType<typeof clipNames>): Foreseen {
  const { clips, fade = 0, length } = input as JoinOptions & { readonly clips: readonly unknown[] };
  const each = clips.map((clip, index) =>
    foreseenLength(`the audio of ${named(index, clips.length)}`, endsOf(clip), length),
  );
  const known = each.flatMap(({ seconds }) => seconds ?? []);
  const sum = known.reduce((all, seconds) => all + seconds, -fade * (clips.length - 1));
  const warning = each.flatMap(({ warning }) => warning ?? []).join("; ");
  return { seconds: known.length < each.length ? null : sum, warning: warning || null };
}

async function joinFiles(
  sources: ReturnType<typeof namedFiles>,
  options: JoinOptions,
  context: TaskContext,
): Promise<JoinedClips> {
  if (sources.length === 0) throw new FilmError("FILM_INPUT", "there are no clips to join");
  const clips: Lasting[] = [];
  for (const { path, name } of sources) clips.push(await openLasting(path, name, options, context.signal));
  const still = clips.find(({ video }) => video.isStill);
  if (still !== undefined)
    throw new FilmError("FILM_INPUT", `${still.name} is a still image; use slideshow to make a video from it`);
  const lasting = clips.map((clip) => ({ ...clip, seconds: clip.lasts }));
  const notes = clips.flatMap((clip) => clip.lengthNote ?? []);
  return {
    ...(await writeJoined(lasting, options, context)),
    lengthNote: notes.length === 0 ? null : notes.join("; "),
  };
}

async function writeJoined(
  clips: readonly Clip[],
  options: JoinOptions & { readonly zoom?: number },
  { signal, progress, file }: TaskContext,
): Promise<Joined> {
  const { size, format, fit = "blur", fps, fade = 0, fadeIn = 0, fadeOut = 0, zoom = 0 } = options;
  const pixels = pixelsOf(clips[0]!.video, size, format);
  const rate = rateOf(fps ?? clips[0]!.video.fps);
  const graph = joinGraph(clips, { pixels, rate, fit, fade, fadeIn, fadeOut, zoom });
  const { args, encoder } = await filmArgs();
  const sound = graph.hasSound ? ["-map", "[sound]", ...SOUND_ARGS] : [];
  await runFfmpeg({
    inputs: clips,
    args: ["-filter_complex", graph.text, "-map", "[film]", ...sound, ...args, "-r", rate.text],
    target: file("film"),
    seconds: graph.seconds,
    signal,
    onProgress: progress,
  });
  await checkLength(file("film"), graph.seconds, signal);
  return { seconds: graph.seconds, ...pixels, fps: rate.fps, starts: graph.starts, encoder };
}

/**
 * Maximum difference between the planned and the actual length, in seconds. ffmpeg sometimes writes a shorter file
 * without reporting an error.
 */
const MOST_OFF = 0.1;

async function checkLength(path: string, shall: number, signal: AbortSignal): Promise<void> {
  const { seconds } = await probe(path, { name: "the video", signal, isForeign: false });
  if (Math.abs(seconds - shall) <= MOST_OFF) return;
  throw new FilmError("FFMPEG_FAILED", `ffmpeg wrote ${seconds.toFixed(2)} s instead of ${shall.toFixed(2)} s`);
}

interface Joining {
  readonly pixels: Pixels;
  readonly rate: Rate;
  readonly fit: Fit;
  readonly fade: number;
  readonly fadeIn: number;
  readonly fadeOut: number;
  /** How much each image is enlarged while it is shown, as a fraction of its size. */
  readonly zoom: number;
}

/** A filter graph with the outputs `[film]` and, if any clip has audio, `[sound]`. */
interface JoinGraph {
  readonly text: string;
  readonly hasSound: boolean;
  readonly seconds: number;
  readonly starts: readonly number[];
}

/** Maximum number of frames that may be missing at the end of a clip. Its last frame is repeated in their place. */
const HELD_FRAMES = 12;

/**
 * Builds the filter graph that joins the clips. Computes all times in frames of the joined film, so that video and
 * audio do not drift apart.
 */
function joinGraph(clips: readonly Clip[], joining: Joining): JoinGraph {
  const { rate, fade } = joining;
  const seconds = clips.map((clip) => clip.seconds);
  const ends = frameEnds(seconds, rate);
  const frames = steps(ends);
  const overlap = clips.length > 1 ? Math.round(fade * rate.fps) : 0;
  checkFades(clips, frames, overlap);
  const hasSound = clips.some(({ audio }) => audio !== null);
  const samples = (count: number) => Math.round((count / rate.fps) * SAMPLE_RATE);
  const lengths = steps(ends.map(samples));
  const chains = clips.flatMap((clip, index) => [
    pictures(clip, index, { ...joining, frames: frames[index]! }),
    ...(hasSound ? [sound(clip, index, lengths[index]!)] : []),
  ]);
  const total = ends.at(-1)! - overlap * (clips.length - 1);
  const starts = frames.map((_, index) => ((ends[index - 1] ?? 0) - overlap * index) / rate.fps);
  const joined =
    overlap === 0
      ? cut(clips.length, hasSound)
      : blended(starts, { overlap, overlapSamples: samples(overlap), rate, hasSound });
  return {
    text: [...chains, ...joined, ...edges(joining, total / rate.fps, hasSound)].join(";"),
    hasSound,
    seconds: total / rate.fps,
    starts,
  };
}

function checkFades(clips: readonly Clip[], frames: readonly number[], overlap: number): void {
  for (const [index, { name, seconds }] of clips.entries()) {
    const blends = overlap * (index > 0 && index < clips.length - 1 ? 2 : 1);
    if (frames[index]! > blends) continue;
    throw new FilmError(
      "FILM_INPUT",
      `${name} is ${seconds.toFixed(2)} s long, too short for its cross-fades; use a shorter fade`,
    );
  }
}

function pictures(
  { video, seconds }: Clip,
  index: number,
  { pixels, rate, fit, zoom, frames }: Joining & { readonly frames: number },
): string {
  const label = `f${index}`;
  const into = fitFilter(video, pixels, { fit, label });
  const moving = zoom > 0 ? `,${zoomFilter(pixels, { zoom, frames, rate })}` : "";
  const heldSeconds = Math.max(0, seconds - video.seconds);
  const held =
    video.isStill || heldSeconds > 0
      ? `,tpad=stop_mode=clone:stop_duration=${heldSeconds + 1}`
      : `,tpad=stop_mode=clone:stop=${HELD_FRAMES}`;
  return `[${index}:V:0]fps=${rate.text}:start_time=0,${into}${held}${moving},format=yuv420p,trim=end_frame=${frames},setpts=PTS-STARTPTS,settb=AVTB[v${index}]`;
}

/**
 * Returns a filter that slowly zooms into an image. The image is doubled in size first, because slow movement in whole
 * pixels would look shaky.
 */
function zoomFilter(
  { width, height }: Pixels,
  { zoom, frames, rate }: Pick<Joining, "zoom" | "rate"> & { readonly frames: number },
): string {
  const large = `scale=${width * 2}:${height * 2}`;
  return `${large},zoompan=z=1+${zoom}*on/${frames}:x=(iw-iw/zoom)/2:y=(ih-ih/zoom)/2:d=1:s=${width}x${height}:fps=${rate.text}`;
}

function sound({ audio }: Clip, index: number, samples: number): string {
  const end = `atrim=end_sample=${samples},asetpts=PTS-STARTPTS[a${index}]`;
  if (audio === null) return `anullsrc=r=${SAMPLE_RATE}:cl=stereo,aformat=sample_fmts=fltp,${end}`;
  return `[${index}:a:0]${PLAIN_SOUND},apad,${end}`;
}

function cut(count: number, hasSound: boolean): readonly string[] {
  const all = Array.from({ length: count }, (_, index) => `[v${index}]${hasSound ? `[a${index}]` : ""}`);
  return [`${all.join("")}concat=n=${count}:v=1:a=${hasSound ? 1 : 0}[joined]${hasSound ? "[heard]" : ""}`];
}

interface Blending {
  readonly overlap: number;
  readonly overlapSamples: number;
  readonly rate: Rate;
  readonly hasSound: boolean;
}

function blended(starts: readonly number[], { overlap, overlapSamples, rate, hasSound }: Blending): readonly string[] {
  const last = starts.length - 1;
  return starts.slice(1).flatMap((start, at) => {
    const index = at + 1;
    const [before, after] = [at === 0 ? "v0" : `x${at}`, index === last ? "joined" : `x${index}`];
    const picture = `[${before}][v${index}]xfade=transition=fade:duration=${overlap / rate.fps}:offset=${start - EARLY / rate.fps}[${after}]`;
    if (!hasSound) return [picture];
    const [heard, next] = [at === 0 ? "a0" : `y${at}`, index === last ? "heard" : `y${index}`];
    return [picture, `[${heard}][a${index}]acrossfade=ns=${overlapSamples}:c1=qsin:c2=qsin[${next}]`];
  });
}

function edges({ fadeIn, fadeOut }: Joining, seconds: number, hasSound: boolean): readonly string[] {
  const both = (letter: "" | "a") => [
    ...(fadeIn > 0 ? [`${letter}fade=t=in:st=0:d=${fadeIn}`] : []),
    ...(fadeOut > 0 ? [`${letter}fade=t=out:st=${Math.max(0, seconds - fadeOut)}:d=${fadeOut}`] : []),
  ];
  return [
    `[joined]${both("").join(",") || "null"}[film]`,
    ...(hasSound ? [`[heard]${both("a").join(",") || "anull"}[sound]`] : []),
  ];
}

/** Options for `slideshow`. */
export interface SlideshowOptions extends JoinOptions {
  /** How long to show each image, in seconds, including cross-fades. Default 3. */
  readonly seconds?: number;
  /** How much an image is enlarged while it is shown, as a fraction of its size. 0 means no zoom. Default 0.08. */
  readonly zoom?: number;
}

const [SECONDS, FADE] = [3, 0.5];

/**
 * Makes a silent film from images. Unlike `join`, it defaults to 16:9 at 1080p, 30 frames per second, cross-fades of
 * half a second, a slow zoom and `fit: "crop"`.
 */
export function slideshow(task: Task, name: string, pictures: MediaList<"image">, options: SlideshowOptions = {}) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, { ...JOINING, seconds: someSeconds, zoom: number(0, 4) });
  const list = listOf(pictures);
  const { seconds = SECONDS, fade = FADE } = own;
  // A handle may stand for several pictures, so the real list may be longer.
  if (list.length > 2) checkBlend(name, fade, { length: seconds / 2, what: "half of each image's time on screen" });
  else if (list.length > 1) checkBlend(name, fade, { length: seconds, what: "each image's time on screen" });
  const named = clipNames(list);
  return filmTask(
    task,
    name,
    { pictures: list, ...own },
    {
      files: { film: "video" },
      version: "1",
      step,
      make: async ({ pictures, ...asked }, context) => {
        const files = namedFiles(pictures as readonly unknown[], named);
        if (files.length === 0) throw new FilmError("FILM_INPUT", "there are no images to show");
        return showFiles(files, asked as SlideshowOptions, context);
      },
    },
  );
}

async function showFiles(
  sources: ReturnType<typeof namedFiles>,
  { seconds = SECONDS, zoom = 0.08, fade = FADE, size = "1080p", fps = 30, fit = "crop", ...rest }: SlideshowOptions,
  context: TaskContext,
) {
  const clips = await Promise.all(
    sources.map(async ({ path, name }) => ({ ...(await openClip(path, name, context.signal)), seconds, audio: null })),
  );
  return writeJoined(clips, { ...rest, size, fps, fade, zoom, fit }, context);
}
