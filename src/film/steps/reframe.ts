import type { LocalFile, Media, TaskContext } from "../../core/define/index.ts";
import { checkOptions, fit, format, lines, type Rules } from "../check-options.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { openClip } from "../graph/clip.ts";
import { type Fit, fitFilter } from "../graph/fit.ts";
import { filmArgs, soundOf } from "../graph/output.ts";
import { type Format, formatName, type Pixels, pixelsOf, type Size } from "../graph/size.ts";

export interface ReframeOptions<F extends Format = Format> extends StepFields {
  readonly to: readonly F[];
  /** Lines of the shorter side. Default: the film's. */
  readonly size?: Extract<Size, `${number}p`>;
  /** Default `crop`. */
  readonly fit?: Fit;
}

const RULES: Rules = {
  size: lines,
  fit,
  to: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((one) => format(one) === null)
      ? null
      : 'a list of formats, such as ["9:16", "1:1"]',
};

/**
 * Converts a film to other aspect ratios. One step for each (`<name>-9x16`), so that adding one does not repeat the
 * others.
 */
export function reframe<F extends Format>(task: Task, name: string, film: Media<"video">, options: ReframeOptions<F>) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, RULES);
  const { to, ...rest } = own;
  const one = (format: F) =>
    filmTask(
      task,
      `${name}-${formatName(format)}`,
      { film, format, ...rest },
      {
        files: { film: "video" },
        version: "2",
        step,
        make: (given, context) => reframeFile(given as unknown as Given, context),
      },
    );
  return Object.fromEntries(to.map((format) => [format, one(format)])) as { readonly [K in F]: ReturnType<typeof one> };
}

interface Given {
  readonly film: LocalFile;
  readonly format: Format;
  readonly size?: Size;
  readonly fit?: Fit;
}

async function reframeFile({ film, format, size, fit = "crop" }: Given, context: TaskContext): Promise<Pixels> {
  const { signal, progress, file } = context;
  const clip = await openClip(film.path, "the film", signal);
  const pixels = pixelsOf(size, format, clip.video);
  const filter = `[0:V:0]${fitFilter(clip.video, pixels, { fit, label: "f" })}[film]`;
  await runFfmpeg({
    inputs: [clip],
    args: ["-filter_complex", filter, "-map", "[film]", ...soundOf(clip), ...(await filmArgs()).args],
    target: file("film"),
    seconds: clip.seconds,
    signal,
    onProgress: progress,
  });
  return pixels;
}
