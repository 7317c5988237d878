import type { LocalFile, Media, OrValue, TaskContext } from "../../core/define/index.ts";
import { checkOptions, fit, format, seconds, size } from "../check-options.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { AS_RGB } from "../ffmpeg/shown.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { openClip } from "../graph/clip.ts";
import { type Fit, type Format, fitFilter, type Pixels, pixelsOf, type Size } from "../graph/frame.ts";

/** Options for `thumbnail`. */
export interface ThumbnailOptions extends StepFields {
  /** Time of the frame in the film, in seconds. Default: the most representative frame of the first ten seconds. */
  readonly at?: OrValue<number>;
  /** Size of the image. Default: the film's size. */
  readonly size?: Size;
  /**
   * Aspect ratio of the image. Default: that of `size`, or 16:9 if `size` is a resolution such as `720p`. Without
   * `size`, that of the film.
   */
  readonly format?: Format;
  /** How to fit the frame into an image with a different aspect ratio. Default `crop`. */
  readonly fit?: Fit;
}

/** Extracts a frame from a film as a PNG image. */
export function thumbnail(task: Task, name: string, film: Media<"video">, options: ThumbnailOptions = {}) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, { at: seconds, size, format, fit });
  return filmTask(
    task,
    name,
    { film, ...own },
    {
      files: { picture: "image" },
      version: "3",
      step,
      make: (given, context) => pictureFile(given as unknown as Given, context),
    },
  );
}

interface Given {
  readonly film: LocalFile;
  readonly at?: number;
  readonly size?: Size;
  readonly format?: Format;
  readonly fit?: Fit;
}

const LOOKED_AT = 10;
/** Maximum number of frames to compare. FFmpeg's `thumbnail` filter keeps all of them in memory. */
const MOST_FRAMES = 300;
const MOST_KEPT_PIXELS = MOST_FRAMES * 1920 * 1080;

async function pictureFile(given: Given, { signal, file }: TaskContext): Promise<Pixels> {
  const { film, at, size, format, fit = "crop" } = given;
  const clip = await openClip(film.path, "the video", signal);
  const pixels = pixelsOf(clip.video, size, format);
  // The last frame starts slightly before the film's end.
  const start = at === undefined ? 0 : Math.max(0, Math.min(at, clip.seconds - 1.5 / (clip.video.fps || 30)));
  const frames = Math.max(1, Math.floor(Math.min(LOOKED_AT, clip.seconds) * clip.video.fps));
  const looked = Math.min(frames, MOST_FRAMES);
  const most = Math.max(1, Math.floor(MOST_KEPT_PIXELS / (clip.video.width * clip.video.height)));
  const step = Math.ceil(looked / most);
  const fewer = step > 1 ? `framestep=${step},` : "";
  const best = at === undefined ? `${fewer}thumbnail=n=${Math.ceil(looked / step)},` : "";
  await runFfmpeg({
    inputs: [{ ...clip, args: start > 0 ? ["-ss", String(start)] : [] }],
    args: [
      ...["-filter_complex", `[0:V:0]${best}${fitFilter(clip.video, pixels, { fit, label: "f" })},${AS_RGB}[picture]`],
      ...["-map", "[picture]", "-frames:v", "1", "-update", "1", "-c:v", "png"],
    ],
    target: file("picture"),
    signal,
  });
  return pixels;
}
