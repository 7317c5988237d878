import { join as at } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { audiogram, caption, join, mix, overlay, reframe, thumbnail, trim } from "../../src/film/index.ts";
import { pipeline } from "../../src/index.ts";
import { localShow } from "../support/local-show.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
beforeAll(async () => {
  for (const [name, seconds] of Object.entries({ "day.mkv": 86_400, "minutes.mkv": 150, "short.mkv": 1 })) {
    const clock = ["-vf", `settb=1/1000,setpts=N*${seconds}*1000`, "-fps_mode", "passthrough", "-copyts"];
    await draw(path(name), "color=red:s=64x64:r=25", "-frames:v", "2", ...clock, "-pix_fmt", "yuv420p");
  }
  await draw(path("blue.png"), "color=blue:s=64x64:d=1", "-frames:v", "1");
  await draw(path("hours.flac"), "anullsrc=r=8000:cl=mono:d=7500", "-c:a", "flac");
});

const film = (name: string) => fileOf("video", path(name));
const picture = fileOf("image", path("blue.png"));

test("a film whose clock says a day is refused before anything is drawn, by each step that reads one [film frames]", async () => {
  const day = film("day.mkv");
  const steps: readonly Parameters<typeof make>[1][] = [
    (task) => trim(task, "x", day, { to: 86_399 }),
    (task) => join(task, "x", [film("short.mkv"), day]),
    (task) => reframe(task, "x", day, { to: ["1:1"] })["1:1"],
    (task) => thumbnail(task, "x", day, {}),
    (task) => caption(task, "x", day, { lines: "a line" }),
    (task) => overlay(task, "x", day, { endCard: { picture, seconds: 1 } }),
    (task) => mix(task, "x", day, { music: { sound: fileOf("audio", path("hours.flac")) } }),
    (task) => mix(task, "x", film("short.mkv"), { music: { sound: fileOf("audio", path("hours.flac")) } }),
    (task) => audiogram(task, "x", fileOf("audio", path("hours.flac")), { picture }),
  ];
  for (const [index, step] of steps.entries()) {
    const failed = await make(folder, step).then(
      () => "drawn",
      (error: unknown) => (error as { readonly code?: string }).code ?? String(error),
    );
    expect([index, failed]).toEqual([index, "CLIP_TOO_LONG"]);
  }
});

test("one picture is shown for two minutes at most, or as long as the author says [film frames]", async () => {
  const minutes = film("minutes.mkv");
  const asked = make(folder, (task) => thumbnail(task, "x", minutes, {}));
  await expect(asked).rejects.toThrow(
    "the video shows a single frame for 150 s; if this is intended, set the step's mostSeconds above 7200",
  );
  await expect(make(folder, (task) => thumbnail(task, "x", minutes, { mostSeconds: 10_000 }))).resolves.toBeDefined();
  await expect(make(folder, (task) => thumbnail(task, "x", film("short.mkv"), { mostSeconds: 1 }))).rejects.toThrow();
});

const world = localShow();

/** A film that somebody gives, beside one that is paid for. */
const withGiven = (mostSeconds?: number) =>
  pipeline("with-given", {
    input: z.object({ film: z.string() }),
    build({ input, job, task, upload }) {
      const paid = job("paid", models.video, {
        ...{ prompt: "rain", aspect_ratio: "16:9", resolution: "720p", duration_ms: 4000, generate_audio: false },
      });
      const film = join(task, "film", [upload("given", input.film), paid], { mostSeconds });
      return { square: reframe(task, "square", film, { to: ["1:1"] })["1:1"] };
    },
  });

test("a plan warns of a film that a step will refuse by its clock, before anything beside it is paid [film frames]", async () => {
  const warned = async (film: string, mostSeconds?: number) =>
    (await world.show.quote(withGiven(mostSeconds), { film: path(film) })).warnings.map(({ step, message }) => [
      step,
      message,
    ]);
  expect(await warned("day.mkv", 200_000)).toEqual([
    ["square-1x1", expect.stringMatching(/is \d{5,6} s long, but the step accepts at most 7200 s/)],
  ]);
  expect((await warned("day.mkv")).map(([step]) => step)).toEqual(["film", "square-1x1"]);
  expect(await warned("short.mkv")).toEqual([]);
});
