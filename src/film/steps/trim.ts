import type { LocalFile, Media, OrValue, TaskContext } from "../../core/define/index.ts";
import { checkOptions, seconds, someSeconds, unfit } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { openClip } from "../graph/clip.ts";
import { fitFilter } from "../graph/fit.ts";
import { filmArgs, PLAIN_SOUND, SAMPLE_RATE, SOUND_ARGS } from "../graph/output.ts";
import { rateOf } from "../graph/rate.ts";
import { pixelsOf } from "../graph/size.ts";

export interface TrimOptions extends StepFields {
  /** Second at which it starts. Default 0. */
  readonly from?: OrValue<number>;
  /** Second at which it ends. Default: the film's end. */
  readonly to?: OrValue<number>;
}

/** Cuts a part of a film, exact to the frame. */
export function trim(task: Task, name: string, film: Media<"video">, options: TrimOptions) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, { from: seconds, to: someSeconds });
  const { from, to } = own;
  if (typeof from === "number" && typeof to === "number" && from >= to)
    throw unfit(`${name}: nothing is left from ${from} s to ${to} s; give a \`to\` after \`from\``);
  return filmTask(
    task,
    name,
    { film, ...own },
    {
      files: { film: "video" },
      version: "2",
      step,
      make: (given, context) => trimFile(given as unknown as Given, context),
    },
  );
}

interface Given {
  readonly film: LocalFile;
  readonly from?: number;
  readonly to?: number;
}

async function trimFile({ film, from = 0, to }: Given, { signal, progress, file }: TaskContext) {
  const clip = await openClip(film.path, "the film", signal);
  const end = Math.min(to ?? clip.seconds, clip.seconds);
  if (!(from >= 0 && from < end))
    throw new FilmError("FILM_INPUT", `nothing is left from ${from} s to ${end} s of ${clip.seconds.toFixed(2)} s`);
  const rate = rateOf(clip.video.fps);
  const [first, last] = [Math.round(from * rate.fps), Math.round(end * rate.fps)];
  const samples = (frame: number) => Math.round((frame / rate.fps) * SAMPLE_RATE);
  const whole = fitFilter(clip.video, pixelsOf(undefined, undefined, clip.video), { fit: "pad", label: "f" });
  const pictures = `[0:V:0]fps=${rate.text}:start_time=0,trim=start_frame=${first}:end_frame=${last},setpts=PTS-STARTPTS,${whole},format=yuv420p[film]`;
  const sound = `[0:a:0]${PLAIN_SOUND},apad,atrim=start_sample=${samples(first)}:end_sample=${samples(last)},asetpts=PTS-STARTPTS[sound]`;
  const hasSound = clip.audio !== null;
  const seconds = (last - first) / rate.fps;
  await runFfmpeg({
    inputs: [clip],
    args: [
      ...["-filter_complex", hasSound ? `${pictures};${sound}` : pictures, "-map", "[film]"],
      ...(hasSound ? ["-map", "[sound]", ...SOUND_ARGS] : []),
      ...(await filmArgs()).args,
      ...["-r", rate.text],
    ],
    target: file("film"),
    seconds,
    signal,
    onProgress: progress,
  });
  return { seconds, starts: [0 - first / rate.fps] };
}
