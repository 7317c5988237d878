import type { MediaList, TaskContext } from "../../core/define/index.ts";
import type { Foreseen } from "../../core/plan/draft.ts";
import { checkOptions, fit, format, number, type Rules, seconds, size } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { clipNames, filmTask, flatFiles, listOf, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Clip, openClip } from "../graph/clip.ts";
import type { Fit } from "../graph/fit.ts";
import { joinGraph } from "../graph/join-graph.ts";
import { filmSeconds, LENGTH, type Length, lengthNote } from "../graph/length.ts";
import { filmArgs, SOUND_ARGS } from "../graph/output.ts";
import { rateOf } from "../graph/rate.ts";
import { type Format, pixelsOf, type Size } from "../graph/size.ts";

/** Options for joining clips. */
export interface JoinOptions extends StepFields {
  /** Default: the first clip's size; with only `format`, the first clip's shorter side. */
  readonly size?: Size;
  /** Default: that of `size`, or 16:9 if `size` is only a number of lines. */
  readonly format?: Format;
  /** How clips of another shape fill the frame. Default `blur`. */
  readonly fit?: Fit;
  /** Frames per second. Default: the first clip's. */
  readonly fps?: number;
  /** Seconds of the blend between clips; each makes the film that much shorter. Default 0: cuts. */
  readonly fade?: number;
  /** Seconds of the fade from black at the start. Default 0. */
  readonly fadeIn?: number;
  /** Seconds of the fade to black at the end. Default 0. */
  readonly fadeOut?: number;
  /** Duration of a clip whose own audio and pictures end at different times. Default `longest`. */
  readonly length?: Length;
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

export interface Joined {
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** Second at which each clip starts. */
  readonly starts: readonly number[];
  /** Name of the encoder. */
  readonly encoder: string;
}

/** The result for clips with their own audio. */
export interface JoinedClips extends Joined {
  /** What was held or cut of clips whose audio and pictures end at different times; null: nothing. */
  readonly lengthNote: string | null;
}

/**
 * Joins clips in order, of any resolution, frame rate, codec or rotation, with or without audio. If any clip has audio,
 * the others are silent; if none has, the film has none.
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
      foresee: foreseenJoin,
      make: ({ clips, ...asked }, context) => {
        const files = flatFiles(clips as readonly unknown[]);
        return joinFiles(
          files.map(({ path }, index) => ({ path, name: named(index, files.length) })),
          asked as JoinOptions,
          context,
        );
      },
    },
  );
}

function foreseenJoin(input: unknown, secondsOf: (media: unknown) => number | null): Foreseen {
  const { clips, fade = 0 } = input as { readonly clips: readonly unknown[]; readonly fade?: number };
  const each = clips.map(secondsOf);
  const sum = each.reduce((all, one) => (all === null || one === null ? null : all + one), 0);
  return { seconds: sum === null ? null : sum - fade * (clips.length - 1) };
}

interface Source {
  readonly path: string;
  readonly name: string;
}

async function joinFiles(sources: readonly Source[], options: JoinOptions, context: TaskContext): Promise<JoinedClips> {
  if (sources.length === 0) throw new FilmError("FILM_INPUT", "there is no clip to join");
  const clips: Clip[] = [];
  for (const { path, name } of sources) clips.push(await openClip(path, name, context.signal));
  const still = clips.find(({ video }) => video.isStill);
  if (still !== undefined)
    throw new FilmError("FILM_INPUT", `${still.name} is a picture; make a film of it by slideshow`);
  const { length } = options;
  const lasting = clips.map((clip) => ({ ...clip, seconds: filmSeconds(clip.seconds, soundSeconds(clip), length) }));
  const notes = clips.flatMap((clip) => {
    const sound = soundSeconds(clip);
    return sound === null
      ? []
      : (lengthNote(`the sound of ${clip.name}`, { pictures: clip.seconds, sound, length }) ?? []);
  });
  return {
    ...(await writeJoined(lasting, options, context)),
    lengthNote: notes.length === 0 ? null : notes.join("; "),
  };
}

function soundSeconds({ audio }: Clip): number | null {
  return audio?.seconds ?? null;
}

/** Writes a film of clips, or of pictures with a duration. */
export async function writeJoined(
  clips: readonly Clip[],
  options: JoinOptions & { readonly zoom?: number },
  { signal, progress, file }: TaskContext,
): Promise<Joined> {
  const { size, format, fit = "blur", fps, fade = 0, fadeIn = 0, fadeOut = 0, zoom = 0 } = options;
  const pixels = pixelsOf(size, format, clips[0]!.video);
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
 * Tolerated shortfall in seconds; ffmpeg may write less without an error, which would only be noticed when watching.
 */
const MOST_OFF = 0.1;

async function checkLength(path: string, shall: number, signal: AbortSignal): Promise<void> {
  const { seconds } = await probe(path, { name: "the film", signal, isForeign: false });
  if (Math.abs(seconds - shall) <= MOST_OFF) return;
  throw new FilmError("FFMPEG_FAILED", `ffmpeg wrote ${seconds.toFixed(2)} s of a film of ${shall.toFixed(2)} s`);
}
