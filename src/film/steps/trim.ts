import type { LocalFile, Media, OrValue, TaskContext } from "../../core/define/index.ts";
import { checkOptions, seconds, someSeconds, unfit } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { openLasting } from "../graph/clip.ts";
import { rateOf, wholeFilter } from "../graph/frame.ts";
import { type EndsOf, foreseenFilm, LENGTH, type LengthOption } from "../graph/length.ts";
import { filmArgs, picturesFor, SAMPLE_RATE, SOUND_ARGS, soundFor } from "../graph/output.ts";

/** Options for `trim`. */
export interface TrimOptions extends StepFields, LengthOption {
  /** Start of the part, in seconds. Default 0. */
  readonly from?: OrValue<number>;
  /** End of the part, in seconds. Default: the film's end. */
  readonly to?: OrValue<number>;
}

/** Extracts a part of a film, accurate to the frame. */
export function trim(task: Task, name: string, film: Media<"video">, options: TrimOptions) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, { from: seconds, to: someSeconds, length: LENGTH });
  const { from, to } = own;
  if (typeof from === "number" && typeof to === "number" && from >= to)
    throw unfit(`${name}: the range from ${from} s to ${to} s is empty; \`to\` must be later than \`from\``);
  return filmTask(
    task,
    name,
    { film, ...own },
    {
      files: { film: "video" },
      version: "3",
      step,
      foresee: (input, endsOf) => foreseenTrim(own, input, endsOf),
      make: (given, context) => trimFile(given as unknown as Given, context),
    },
  );
}

function foreseenTrim(own: Omit<TrimOptions, keyof StepFields>, input: unknown, endsOf: EndsOf) {
  const { from = 0, to = Infinity } = own;
  const { seconds, warning } = foreseenFilm(own)(input, endsOf);
  if (seconds === null || typeof from !== "number" || typeof to !== "number") return { seconds: null };
  return { seconds: Math.max(0, Math.min(to, seconds) - from), warning };
}

interface Given extends LengthOption {
  readonly film: LocalFile;
  readonly from?: number;
  readonly to?: number;
}

async function trimFile({ film, from = 0, to, length }: Given, { signal, progress, file }: TaskContext) {
  const clip = await openLasting(film.path, "the video", { length }, signal);
  const end = Math.min(to ?? clip.lasts, clip.lasts);
  if (!(from >= 0 && from < end))
    throw new FilmError(
      "FILM_INPUT",
      `the range from ${from} s to ${end} s is empty; the video lasts ${clip.lasts.toFixed(2)} s`,
    );
  const rate = rateOf(clip.video.fps);
  const [first, last] = [Math.round(from * rate.fps), Math.round(end * rate.fps)];
  const shown = `${picturesFor(clip, last / rate.fps)},trim=start_frame=${first},setpts=PTS-STARTPTS`;
  const pictures = `[0:V:0]${shown},${wholeFilter(clip.video, "f")},format=yuv420p[film]`;
  const begin = Math.round((first / rate.fps) * SAMPLE_RATE);
  const sound = `[0:a:0]${soundFor(last / rate.fps)},atrim=start_sample=${begin},asetpts=PTS-STARTPTS[sound]`;
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
  return { seconds, starts: [0 - first / rate.fps], lengthNote: clip.lengthNote };
}
