/** Pictures and sound that do not end together: one rule, said before and after. */

import { join as at } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import type { Task } from "../../src/film/film-task.ts";
import { caption, join, type Length, mix, overlay, reframe, trim } from "../../src/film/index.ts";
import { pipeline } from "../../src/index.ts";
import { localShow } from "../support/local-show.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw, drawClip } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const world = localShow();
beforeAll(async () => {
  await drawClip(path("film.mp4"), { seconds: 3, tone: null });
  for (const seconds of [1.37, 6.41]) await draw(path(`${seconds}.wav`), `sine=f=300:d=${seconds}:r=48000`);
  const sound = ["-f", "lavfi", "-i", "sine=d=2"];
  await draw(path("long-sound.mp4"), "testsrc2=s=320x240:r=25:d=1", ...sound, "-pix_fmt", "yuv420p");
});

describe.each([
  ["longest", 6.41, 6.41, /lasts 6\.4 s and the video 3 s: the last frame is held for 3\.4 s/],
  ["sound", 6.41, 6.41, /held for 3\.4 s/],
  ["pictures", 6.41, 3, /the last 3\.4 s of audio are cut/],
  ["longest", 1.37, 3, null],
  ["sound", 1.37, 1.37, /the last 1\.6 s of video are cut/],
  ["pictures", 1.37, 3, null],
] as const)("a mix by %s, of 3 s of pictures and %s s of speech", (length, spoken, seconds, note) => {
  test("lasts as the rule says, and says what was held or cut", async () => {
    const voice = fileOf("audio", path(`${spoken}.wav`));
    const { value, file } = await make(folder, (task) =>
      mix(task, "m", fileOf("video", path("film.mp4")), { voice, length }),
    );
    const { lengthNote, seconds: said } = value as { readonly lengthNote: string | null; readonly seconds: number };
    expect(said).toBeCloseTo(seconds, 2);
    if (note === null) expect(lengthNote).toBeNull();
    else expect(lengthNote).toMatch(note);
    const made = await probe(file());
    expect(Math.abs(made.video!.seconds - seconds)).toBeLessThan(0.05);
    expect(Math.abs(made.audio!.seconds - seconds)).toBeLessThan(0.05);
  });
});

test.each<readonly [Length, number, RegExp]>([
  ["longest", 2, /lasts 2 s and the video 1 s: the last frame is held for 1 s/],
  ["sound", 2, /the last frame is held for 1 s/],
  ["pictures", 1, /the last 1 s of audio are cut/],
])(
  "a joined clip whose sound is longer lasts by %s %s s, and the step says what was held or cut",
  async (length, seconds, note) => {
    const clip = fileOf("video", path("long-sound.mp4"));
    const { value, file } = await make(folder, (task) => join(task, "j", [clip, clip], { length }));
    const { lengthNote } = value as { readonly lengthNote: string };
    expect(lengthNote.split("; ")).toEqual([1, 2].map((n) => expect.stringContaining(`the audio of clip ${n} of 2`)));
    expect(lengthNote).toMatch(note);
    expect((value as { readonly starts: readonly number[] }).starts[1]).toBeCloseTo(seconds, 1);
    expect(Math.abs((await probe(file())).seconds - 2 * seconds)).toBeLessThan(0.05);
  },
);

describe.each<readonly [Length | undefined, number, RegExp]>([
  [undefined, 2, /the audio of the video lasts 2 s and the video 1 s: the last frame is held for 1 s/],
  ["pictures", 1, /the last 1 s of audio are cut/],
])("a film of 1 s of pictures and 2 s of sound, by %s", (length, seconds, note) => {
  const film = fileOf("video", path("long-sound.mp4"));
  const lines = [{ text: "hello", words: [{ text: "hello", start: 0.1, end: 0.5 }] }];
  const rule = { ...(length && { length }) };
  test.each([
    ["overlay", (task: Task) => overlay(task, "o", film, { lowerThird: { title: "hello", at: 0 }, ...rule })],
    ["caption", (task: Task) => caption(task, "c", film, { lines, ...rule })],
    ["caption as a track", (task: Task) => caption(task, "c", film, { lines, burn: false, ...rule })],
    ["reframe", (task: Task) => reframe(task, "r", film, { to: ["1:1"], ...rule })],
    ["trim", (task: Task) => trim(task, "t", film, { from: 0, ...rule })],
  ])("lasts as the rule says after %s, in pictures and in sound", async (_, add) => {
    const { value, file } = await make(folder, add);
    expect((value as { readonly lengthNote: string }).lengthNote).toMatch(note);
    const made = await probe(file());
    expect(Math.abs(made.video!.seconds - seconds)).toBeLessThan(0.05);
    expect(Math.abs(made.audio!.seconds - seconds)).toBeLessThan(0.05);
  });

  test("is warned of in the plan of each step", async () => {
    const given = pipeline("given", {
      input: z.object({}),
      build({ task, upload }) {
        const film = upload("film", path("long-sound.mp4"));
        const { "1:1": square } = reframe(task, "reframed", film, { to: ["1:1"], ...rule });
        return {
          square,
          laid: overlay(task, "laid", film, { lowerThird: { title: "hello", at: 0 }, ...rule }),
          captioned: caption(task, "captioned", film, { lines, ...rule }).film,
          cut: trim(task, "cut", film, { from: 0, ...rule }),
          joined: join(task, "joined", [film], rule),
          mixed: mix(task, "mixed", film, rule),
        };
      },
    });
    const { warnings } = await world.show.quote(given, {});
    const expected = length === undefined ? /held for 1 s/ : /the last 1 s of audio are cut/;
    expect(warnings.map(({ step, message }) => [step, expected.test(message)])).toEqual(
      ["reframed-1x1", "laid", "captioned", "cut", "joined", "mixed"].map((step) => [step, true]),
    );
  });
});

test("a join of clips whose sound ends with their pictures says nothing of their lengths", async () => {
  const { value } = await make(folder, (task) => join(task, "j", [fileOf("video", path("film.mp4"))]));
  expect(value).toMatchObject({ lengthNote: null });
});

const SPEECH = "Fresh bread from five in the morning, every day of the week, for as long as there is anybody in town.";

/** A film of two clips of four seconds under a text. */
const spoken = (text: string, length?: Length) =>
  pipeline("spoken", {
    input: z.object({}),
    build({ job, task }) {
      const video = { aspect_ratio: "16:9", resolution: "720p", duration_ms: 4000, generate_audio: false } as const;
      const clips = ["a", "b"].map((name) => job(name, models.video, { prompt: name, ...video }));
      const voice = job("voice", models.speech, { text, voice_id: "iris" } as never);
      return { film: mix(task, "film", join(task, "cut", clips), { voice, ...(length && { length }) }) };
    },
  });

test("a plan warns where the speech will be longer than the pictures by what is expected, and of nothing else", async () => {
  const warned = async (text: string, length?: Length) => {
    const { warnings } = await world.show.quote(spoken(text, length), {});
    return warnings.filter(({ code }) => code === "length");
  };
  expect(await warned(SPEECH.repeat(3))).toEqual([
    { code: "length", step: "film", message: expect.stringMatching(/the video 8 s: the last frame is held for/) },
  ]);
  expect((await warned(SPEECH.repeat(3), "pictures"))[0]!.message).toMatch(/the last .* of audio are cut/);
  expect(await warned("Fresh bread.")).toEqual([]);
});

test("a plan warns where a sound that is given is longer than the film that is given, by the files themselves", async () => {
  const given = pipeline("given", {
    input: z.object({}),
    build: ({ task, upload }) => ({
      film: mix(task, "film", upload("pictures", path("film.mp4")), {
        voice: upload("voice", path("6.41.wav")),
      }),
    }),
  });
  const { warnings } = await world.show.quote(given, {});
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(/the audio lasts 6\.4 s and the video 3 s: the last frame is held for 3\.4 s/),
  ]);
});
