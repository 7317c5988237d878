import { expect, test } from "vitest";
import { z } from "zod";
import { record } from "../../src/core/define/pipeline.ts";
import type { Task } from "../../src/film/film-task.ts";
import {
  audiogram,
  caption,
  join,
  mix,
  overlay,
  type ReframeOptions,
  reframe,
  slideshow,
  thumbnail,
  trim,
} from "../../src/film/index.ts";
import { pipeline } from "../../src/index.ts";
import { fileOf } from "./support/film-step.ts";

const film = fileOf("video", "/film.mp4");
const picture = fileOf("image", "/picture.png");
const sound = fileOf("audio", "/sound.wav");
const three = [picture, picture, picture];

/** What is said of a step that is added with options that its types would refuse. */
function said(add: (task: Task) => unknown): string {
  const task = (() => ({ step: "x", yields: "video", form: "single", file: () => null, value: null })) as never;
  try {
    add(task);
  } catch (error) {
    return `${(error as { code?: string }).code} ${(error as Error).message}`;
  }
  return "nothing";
}

const bad = <T>(options: unknown) => options as T;

test.each([
  ["join", { fade: -1 }, "fade is -1; use 0 seconds or more, such as 0.5"],
  ["join", { fadein: 1 }, "unknown option fadein; did you mean fadeIn"],
  ["join", { fadeOut: Number.NaN }, "fadeOut is NaN; use 0 seconds or more"],
  ["join", { fps: 0 }, "fps is 0; use a number from 1 to 240"],
  ["join", { size: "0x0" }, 'size is "0x0"; use a size such as "1080p" or "1280x720"'],
  ["join", { size: "9000x720" }, "16 to 8192 pixels per side"],
  ["join", { format: "3:2" }, 'format is "3:2"; use "16:9" or "9:16"'],
  ["join", { fit: "stretch" }, 'fit is "stretch"; use "crop" or "pad" or "blur"'],
  ["slideshow", { seconds: 0 }, "seconds is 0; use more than 0 seconds"],
  ["slideshow", { fade: 2 }, "fade is 2 s, but it must be shorter than half of each image's time on screen (1.5 s)"],
  ["slideshow", { seconds: 0.8 }, "fade is 0.5 s"],
  ["trim", { from: -1 }, "from is -1"],
  ["trim", { from: 2, to: 2 }, "the range from 2 s to 2 s is empty"],
  ["thumbnail", { at: -0.1 }, "at is -0.1"],
  ["reframe", { to: [] }, "to is []; use a list of formats"],
  ["reframe", { to: ["9:16"], size: "100x100" }, 'use a size such as "1080p"'],
  ["audiogram", { picture, color: "red" }, 'color is "red"; use a color such as "#ff8800"'],
  ["mix", { voice: { sound, at: -2 } }, "s: voice: at is -2"],
  ["mix", { music: { sound, volum: 3 } }, "s: music: unknown option volum; did you mean volume?"],
  ["mix", { loudness: 14 }, "loudness is 14; use a number of LUFS from -70 to -5"],
  ["overlay", {}, "there is nothing to overlay"],
  ["overlay", { logo: { picture, corner: "left" } }, 's: logo: corner is "left"'],
  ["overlay", { lowerThird: { title: "A", seconds: -4 } }, "s: lowerThird: seconds is -4"],
  ["overlay", { lowerThird: { title: "A", style: { position: "top" } } }, "style: unknown option position"],
  ["overlay", { endCard: { picture, seconds: 0.2 } }, "must be shorter than the card's time on screen (0.2 s)"],
  ["caption", { lines: "A.", letters: 0 }, "letters is 0"],
  ["caption", { lines: "A.", style: { size: 40 } }, "size is 40; use a number (fraction of the shorter side)"],
  ["caption", { lines: ["A."] }, "`lines` must not be a list of strings; use one string"],
  ["caption", { lines: [{ text: "A.", at: -1 }] }, "s: lines: at is -1"],
] as const)("%s %j is refused while the pipeline is built", (kind, options, message) => {
  const add = {
    join: (task: Task) => join(task, "s", [film], bad(options)),
    slideshow: (task: Task) => slideshow(task, "s", three, bad(options)),
    trim: (task: Task) => trim(task, "s", film, bad(options)),
    thumbnail: (task: Task) => thumbnail(task, "s", film, bad(options)),
    reframe: (task: Task) => reframe(task, "s", film, bad<ReframeOptions>(options)),
    audiogram: (task: Task) => audiogram(task, "s", sound, bad(options)),
    mix: (task: Task) => mix(task, "s", film, bad(options)),
    overlay: (task: Task) => overlay(task, "s", film, bad(options)),
    caption: (task: Task) => caption(task, "s", film, bad(options)),
  }[kind];
  expect(said(add)).toContain("FILM_INPUT s");
  expect(said(add)).toContain(message);
});

test("it is a problem of the plan, beside the step's own options and values of other steps", () => {
  const cut = (fade: number) =>
    pipeline("cut", {
      input: z.object({}),
      build({ job, task }) {
        const clip = job("clip", "video-1", { prompt: "a boat" });
        const at = task("at", {}, () => 1);
        const joined = join(task, "joined", [clip, clip], { fade, attempts: 2, fit: "pad", size: "720p" });
        return { part: trim(task, "part", joined, { from: at, to: 2, after: clip }) };
      },
    });
  expect(record(cut(0.2), {}).problems).toEqual([]);
  expect(record(cut(-0.2), {}).problems).toMatchObject([
    { code: "build", message: expect.stringContaining("joined: fade is -0.2; use 0 seconds or more") },
  ]);
});
