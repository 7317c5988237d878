import type { MediaList, TaskContext } from "../../core/define/index.ts";
import type { Foreseen } from "../../core/plan/draft.ts";
import { checkOptions, fit, format, number, type Rules, seconds, size } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { clipNames, filmTask, listOf, namedFiles, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Clip, type Lasting, openLasting } from "../graph/clip.ts";
import type { Fit } from "../graph/fit.ts";
import { joinGraph } from "../graph/join-graph.ts";
import { type EndsOf, foreseenLength, LENGTH, type LengthOption } from "../graph/length.ts";
import { filmArgs, SOUND_ARGS } from "../graph/output.ts";
import { rateOf } from "../graph/rate.ts";
import { type Format, pixelsOf, type Size } from "../graph/size.ts";

/** Options for `join`. */
export interface JoinOptions extends StepFields, LengthOption {
  /** Size of the film. Default: the first clip's size or, with `format`, its shorter side. */
  readonly size?: Size;
  /** Aspect ratio of the film. Default: that of `size`, or 16:9 if `size` is only a resolution such as `1080p`. */
  readonly format?: Format;
  /** How clips of another shape fill the frame. Default `blur`. */
  readonly fit?: Fit;
  /** Frames per second. Default: the first clip's frame rate. */
  readonly fps?: number;
  /** Length of the cross-fades between clips, in seconds. Each shortens the film by its length. Default 0. */
  readonly fade?: number;
  /** Length of the fade from black at the start, in seconds. Default 0. */
  readonly fadeIn?: number;
  /** Length of the fade to black at the end, in seconds. Default 0. */
  readonly fadeOut?: number;
}

export const JOINING: Rules = {
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
  /** Second of the film at which each clip starts. */
  readonly starts: readonly number[];
  /** Name of the video encoder. */
  readonly encoder: string;
}

/** The value of a `join` step. */
export interface JoinedClips extends Joined {
  /**
   * What was cut or extended in clips whose video and audio end at different times. Null if nothing was cut or
   * extended.
   */
  readonly lengthNote: string | null;
}

/**
 * Joins clips in order. They may differ in resolution, frame rate, codec and rotation. If any clip has audio, clips
 * without audio are silent; if none has audio, neither does the film.
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
    foreseenLength(`the sound of ${named(index, clips.length)}`, endsOf(clip), length),
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
    throw new FilmError("FILM_INPUT", `${still.name} is a picture; use slideshow to make a film from it`);
  const lasting = clips.map((clip) => ({ ...clip, seconds: clip.lasts }));
  const notes = clips.flatMap((clip) => clip.lengthNote ?? []);
  return {
    ...(await writeJoined(lasting, options, context)),
    lengthNote: notes.length === 0 ? null : notes.join("; "),
  };
}

export async function writeJoined(
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

/** Tolerance in seconds. ffmpeg sometimes writes less without reporting an error. */
const MOST_OFF = 0.1;

async function checkLength(path: string, shall: number, signal: AbortSignal): Promise<void> {
  const { seconds } = await probe(path, { name: "the film", signal, isForeign: false });
  if (Math.abs(seconds - shall) <= MOST_OFF) return;
  throw new FilmError("FFMPEG_FAILED", `ffmpeg wrote ${seconds.toFixed(2)} s instead of ${shall.toFixed(2)} s`);
}
