import type { MediaList, TaskContext } from "../../core/define/index.ts";
import { checkBlend, checkOptions, number, someSeconds } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { clipNames, filmTask, listOf, namedFiles, splitOptions, type Task } from "../film-task.ts";
import { openClip } from "../graph/clip.ts";
import { JOINING, type JoinOptions, writeJoined } from "./join.ts";

/** Options for `slideshow`. */
export interface SlideshowOptions extends JoinOptions {
  /** Seconds for which each image is shown, including cross-fades. Default 3. */
  readonly seconds?: number;
  /** How much an image is enlarged while it is shown, as a fraction of its size. 0 means no zoom. Default 0.08. */
  readonly zoom?: number;
}

const [SECONDS, FADE] = [3, 0.5];

/**
 * Makes a silent film from images. Its defaults differ from those of `join`: 16:9 at 1080p, 30 frames per second, `fit:
 * "crop"`, cross-fades of half a second, and a slow zoom.
 */
export function slideshow(task: Task, name: string, pictures: MediaList<"image">, options: SlideshowOptions = {}) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, { ...JOINING, seconds: someSeconds, zoom: number(0, 4) });
  const list = listOf(pictures);
  const { seconds = SECONDS, fade = FADE } = own;
  // A handle may stand for several pictures, so the real list may be longer.
  if (list.length > 2) checkBlend(name, fade, { length: seconds / 2, what: "half of each picture's time on screen" });
  else if (list.length > 1) checkBlend(name, fade, { length: seconds, what: "each picture's time on screen" });
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
        if (files.length === 0) throw new FilmError("FILM_INPUT", "there are no pictures to show");
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
