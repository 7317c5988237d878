import { join as at } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { readMarks } from "../../src/core/marks/index.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { colorsOf } from "../../src/film/ffmpeg/shown.ts";
import { fitFilter, pixelsOf, rateOf } from "../../src/film/graph/frame.ts";
import { audiogram, named, overlay, reframe, slideshow, thumbnail } from "../../src/film/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";
import { colorAt } from "./support/measure.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const film = fileOf("video", path("film.mp4"));
const [red, blue] = [fileOf("image", path("red.png")), fileOf("image", path("blue.png"))];
const voice = fileOf("audio", at(import.meta.dirname, "../../recipes/assets/voice-sample.wav"));
beforeAll(async () => {
  const sound = ["-f", "lavfi", "-i", "sine=d=1.2"];
  await draw(path("red.png"), "color=red:s=64x64:d=1", "-frames:v", "1");
  await draw(path("blue.png"), "color=blue:s=80x60:d=1", "-frames:v", "1");
  await draw(path("film.mp4"), "color=gray:s=320x180:r=25:d=1.2", ...sound, "-pix_fmt", "yuv420p");
});

test("a logo and a lower third lie where they belong, and a card comes after the film", async () => {
  const made = await make(folder, (task) =>
    overlay(task, "o", film, {
      logo: { picture: red, corner: "top-left", width: 0.2 },
      lowerThird: {
        title: "Ada",
        subtitle: "who counts",
        at: 0.2,
        seconds: 0.6,
        style: { outline: "#00ff00" },
        captionSize: 0.05,
      },
      endCard: { picture: blue, seconds: 1, fade: 0.2 },
    }),
  );
  const probed = await probe(made.file());
  expect(probed.seconds).toBeCloseTo(2, 2);
  expect(probed.audio!.seconds).toBeCloseTo(2, 2);
  expect((await colorAt(made.file(), 0.4, "40:24:24:14"))[0]).toBeGreaterThan(230);
  const [, before] = await colorAt(made.file(), 0.1, "60:16:80:118");
  const [, during] = await colorAt(made.file(), 0.5, "60:16:80:118");
  expect(during).toBeGreaterThan(before + 20);
  expect((await colorAt(made.file(), 1.8))[2]).toBeGreaterThan(230);
  expect(made.value).toMatchObject({ seconds: 2, starts: [0] });
});

test("a card of another shape is whole where that is asked for", async () => {
  const endCard = { picture: red, seconds: 0.4, fade: 0.1, fit: "pad" } as const;
  const made = await make(folder, (task) => overlay(task, "o", film, { endCard }));
  expect((await colorAt(made.file(), 1.4, "160:160:80:10"))[0]).toBeGreaterThan(230);
  expect((await colorAt(made.file(), 1.4, "50:160:10:10"))[0]).toBeLessThan(20);
});

test("a film in another shape keeps its length and its sound as they are", async () => {
  const made = await make(folder, (task) => reframe(task, "r", film, { to: ["9:16"], size: "480p" }));
  const probed = await probe(made.file());
  expect(probed.video).toMatchObject({ width: 480, height: 854 });
  expect(probed.audio!.seconds).toBeCloseTo(1.2, 1);
});

test("a thumbnail is a picture of the film, also at its very end", async () => {
  for (const options of [{}, { at: 1.2 }, { at: 99, size: "480p", format: "1:1" } as const]) {
    const made = await make(folder, (task) => thumbnail(task, "t", film, options));
    expect((await colorAt(made.file(), 0))[0]).toBeCloseTo(128, -1);
  }
});

test("pictures become a film, one after the other", async () => {
  const options = { seconds: 1, fade: 0.2, size: "160x120", fps: 20 } as const;
  const made = await make(folder, (task) => slideshow(task, "s", [red, blue], options));
  expect(made.value).toMatchObject({ seconds: 1.8, starts: [0, 0.8] });
  expect((await probe(made.file())).seconds).toBeCloseTo(1.8, 1);
  expect((await colorAt(made.file(), 0.3))[0]).toBeGreaterThan(230);
  expect((await colorAt(made.file(), 1.5))[2]).toBeGreaterThan(230);
});

test("a sound is seen as a wave over a picture, and is as long as it was", async () => {
  const options = { picture: blue, size: "160x160", color: "#ffffff" } as const;
  const made = await make(folder, (task) => audiogram(task, "a", voice, options));
  const probed = await probe(made.file());
  expect(probed.seconds).toBeCloseTo(4.32, 1);
  expect(probed.audio!.seconds).toBeCloseTo(4.32, 1);
  expect((await colorAt(made.file(), 1, "iw:6:0:122"))[0]).toBeGreaterThan(60);
  expect((await colorAt(made.file(), 1, "iw:20:0:0"))[0]).toBeLessThan(20);
});

test("what was made says that a machine made parts of it", async () => {
  const made = await make(folder, (task) => reframe(task, "r", film, { to: ["1:1"] }));
  expect(JSON.stringify(await readMarks(made.file()))).toContain("compositeWithTrainedAlgorithmicMedia");
  expect(await ffmpeg("-v", "error", "-i", made.file(), "-f", "null", "-")).toBe("");
});

test("sizes are even, and in the shape that was asked for", () => {
  const first = { width: 1281, height: 719 };
  expect(pixelsOf(first)).toEqual({ width: 1282, height: 720 });
  expect(pixelsOf(first, "1080p", undefined)).toEqual({ width: 1920, height: 1080 });
  expect(pixelsOf(first, "1080p", "4:5")).toEqual({ width: 1080, height: 1350 });
  expect(pixelsOf(first, undefined, "9:16")).toEqual({ width: 720, height: 1278 });
  expect(() => pixelsOf(first, "9000x10", undefined)).toThrow("9000x10 is not a valid size");
});

test("a picture of a few bytes that would be drawn at any size is refused", () => {
  for (const first of [
    { width: 9000, height: 100 },
    { width: 8000, height: 8000 },
  ])
    expect(() => pixelsOf(first)).toThrow("is not a valid size; use 16 to 8192 pixels per side");
  const frame = { width: 1080, height: 1080 };
  const colors = colorsOf({ pix_fmt: "rgb24" }, true);
  for (const fit of ["crop", "blur"] as const)
    expect(() =>
      fitFilter({ width: 2, height: 80_000, turn: 1, isInterlaced: false, colors }, frame, { fit, label: "x" }),
    ).toThrow("crop the image first");
});

test("rates are those of players", () => {
  expect([29.97, 23.976, 25, 59.94, 0, 7, 120, 24.8].map((fps) => rateOf(fps).text)).toEqual(
    ["30000/1001", "24000/1001", "25", "60000/1001", "30", "10", "60", "25"], // biome-ignore format: one line
  );
});

test("files are named by a template", () => {
  const files = named("{client}-{sku}-{format}", { client: "Acme Ltd.", sku: 7 }, { "9:16": 1, "16:9": 2 });
  expect(files).toEqual({ "Acme-Ltd.-7-9x16": 1, "Acme-Ltd.-7-16x9": 2 });
  const captioned = { film: "f", srt: "s", vtt: "v", value: "cues" };
  expect(named("guide-{format}", {}, { en: captioned as never })).toEqual({
    "guide-en": "f",
    "guide-en.srt": "s",
    "guide-en.vtt": "v",
  });
  expect(() => named("{sku}-{colour}", { sku: 7 }, { a: 1 })).toThrow(
    /uses \{colour\}, which has no value; the known fields are format, sku/,
  );
  expect(() => named("{sku}", { sku: 7 }, { a: 1, b: 2 })).toThrow(/gives several files the same name/);
});
