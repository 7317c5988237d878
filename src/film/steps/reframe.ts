import type { LocalFile, Media, TaskContext } from "../../core/define/index.ts";
import { checkOptions, fit, format, lines, type Rules } from "../check-options.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { openLasting } from "../graph/clip.ts";
import { type Fit, type Format, fitFilter, formatName, pixelsOf, type Size } from "../graph/frame.ts";
import { foreseenFilm, LENGTH, type LengthOption } from "../graph/length.ts";
import { filmArgs, heldFor, soundOf } from "../graph/output.ts";

/** Options for `reframe`. */
export interface ReframeOptions<F extends Format = Format> extends StepFields, LengthOption {
  /** The films' aspect ratios. One film is made for each. */
  readonly to: readonly F[];
  /** Length of the shorter side in pixels, such as `720p`. Default: the film's shorter side. */
  readonly size?: Extract<Size, `${number}p`>;
  /** How the film fills a frame with a different aspect ratio. Default `crop`. */
  readonly fit?: Fit;
}

const RULES: Rules = {
  size: lines,
  fit,
  length: LENGTH,
  to: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((ratio) => format(ratio) === null)
      ? null
      : 'a list of formats, such as ["9:16", "1:1"]',
};

/**
 * Converts a film to other aspect ratios. Each ratio is a separate step (`<name>-9x16`), so adding a ratio does not
 * repeat the steps of the others.
 */
export function reframe<F extends Format>(task: Task, name: string, film: Media<"video">, options: ReframeOptions<F>) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, RULES);
  const { to, ...rest } = own;
  const reframed = (format: F) =>
    filmTask(
      task,
      `${name}-${formatName(format)}`,
      { film, format, ...rest },
      {
        files: { film: "video" },
        version: "3",
        step,
        foresee: foreseenFilm(own),
        make: (given, context) => reframeFile(given as unknown as Given, context),
      },
    );
  return Object.fromEntries(to.map((format) => [format, reframed(format)])) as {
    readonly [K in F]: ReturnType<typeof reframed>;
  };
}

interface Given extends LengthOption {
  readonly film: LocalFile;
  readonly format: Format;
  readonly size?: Size;
  readonly fit?: Fit;
}

async function reframeFile({ film, format, size, fit = "crop", length }: Given, context: TaskContext) {
  const { signal, progress, file } = context;
  const clip = await openLasting(film.path, "the video", { length }, signal);
  const pixels = pixelsOf(clip.video, size, format);
  const filter = `[0:V:0]${heldFor(clip)}${fitFilter(clip.video, pixels, { fit, label: "f" })}[film]`;
  await runFfmpeg({
    inputs: [clip],
    args: ["-filter_complex", filter, "-map", "[film]", ...soundOf(clip, clip.lasts), ...(await filmArgs()).args],
    target: file("film"),
    seconds: clip.lasts,
    signal,
    onProgress: progress,
  });
  return { ...pixels, lengthNote: clip.lengthNote };
}
