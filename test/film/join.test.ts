import { readFileSync, writeFileSync } from "node:fs";
import { join as at } from "node:path";
import { describe, expect, test } from "vitest";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { join, trim } from "../../src/film/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw, drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";
import { colorAt, gapsOf } from "./support/measure.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);

/** A clip of one colour, silent or with a tone. */
async function plain(
  name: string,
  color: string,
  { size = "160x120", seconds = 0.6, tone = true } = {},
): Promise<string> {
  const sound = tone ? ["-f", "lavfi", "-i", `sine=f=500:d=${seconds}`] : [];
  await draw(path(name), `color=${color}:s=${size}:r=25:d=${seconds}`, ...sound, "-pix_fmt", "yuv420p");
  return path(name);
}

const joined = (paths: readonly string[], options = {}) =>
  make(folder, (task) => {
    const clips = paths.map((one) => fileOf("video", one));
    return join(task, "cut", clips, options);
  });

describe("clips of any kind become one film", () => {
  test("of the size and rate that was asked for, as long as they are together, and heard where they are", async () => {
    const clips = [
      await drawClip(path("a.mp4"), { seconds: 0.7 }),
      await drawClip(path("b.webm"), { size: "200x150", fps: 30, seconds: 0.6, tone: null }),
      await drawClip(path("c.avi"), { size: "176x144", fps: "24000/1001", seconds: 0.8, codec: ["-c:v", "mpeg4"] }),
    ];
    const { value, file } = await joined(clips, { size: "320x180", fps: 30 });
    const film = await probe(file());
    const lengths = await Promise.all(clips.map(async (clip) => (await probe(clip)).seconds));
    expect(Math.abs(film.seconds - lengths.reduce((sum, one) => sum + one))).toBeLessThan(0.05);
    expect(film.audio!.seconds).toBeCloseTo(film.seconds, 1);
    expect(film.video).toMatchObject({ width: 320, height: 180, fps: 30 });
    expect(value).toMatchObject({ width: 320, height: 180, fps: 30, encoder: "libx264" });
    const { black, silent } = await gapsOf(file());
    expect(black).toEqual([]);
    expect(silent).toHaveLength(1);
    expect(Number.parseFloat(silent[0]!)).toBeCloseTo(0.7, 1);
  });

  test("that is silent where all of them are", async () => {
    const { file } = await joined([await plain("s.mp4", "red", { tone: false })]);
    expect((await probe(file())).audio).toBeNull();
  });

  test("cropped, padded or with the picture itself at its sides", async () => {
    const [red, tall] = [await plain("r.mp4", "red"), await plain("t.mp4", "lime", { size: "90x160" })];
    const side = async (fit: string) => {
      const { file } = await joined([red, tall], { size: "160x120", fit });
      return colorAt(file(), 1, "10:ih:0:0");
    };
    const [crop, pad, blur] = [await side("crop"), await side("pad"), await side("blur")];
    expect(crop[1]).toBeGreaterThan(230);
    expect(pad[1]).toBeLessThan(20);
    expect(blur[1]).toBeGreaterThan(150);
  });

  test("upright, if a player would turn them", async () => {
    const halves = "color=red:s=80x120:r=25:d=0.5[a];color=blue:s=80x120:r=25:d=0.5[b];[a][b]hstack";
    await draw(path("flat.mp4"), halves, "-pix_fmt", "yuv420p");
    await ffmpeg("-v", "error", "-i", path("flat.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90", path("turned.mp4"));
    const { value, file } = await joined([path("turned.mp4")]);
    expect(value).toMatchObject({ width: 120, height: 160 });
    const [upper, lower] = [await colorAt(file(), 0.2, "iw:40:0:0"), await colorAt(file(), 0.2, "iw:40:0:120")];
    const shown = await colorAt(path("turned.mp4"), 0.2, "iw:40:0:0");
    expect(upper[0]).toBeCloseTo(shown[0], -1);
    expect(Math.abs(upper[0] - lower[0])).toBeGreaterThan(150);
  });

  test("shorter by each blend, in which both are seen and heard", async () => {
    const clips = [await plain("r.mp4", "red"), await plain("b.mp4", "blue"), await plain("r2.mp4", "red")];
    const { value, file } = await joined(clips, { fade: 0.2 });
    const film = await probe(file());
    expect(film.seconds).toBeCloseTo(1.4, 2);
    const slow = await drawClip(path("slow.mp4"), { fps: 24, seconds: 0.5 });
    const many = await joined(Array(5).fill(slow), { fade: 0.125 });
    expect((await probe(many.file())).seconds).toBeCloseTo(2, 3);
    expect(value).toMatchObject({ seconds: 1.4, starts: [0, 0.4, 0.8] });
    const [red, , blue] = await colorAt(file(), 0.5);
    expect(red).toBeGreaterThan(60);
    expect(blue).toBeGreaterThan(60);
    expect((await gapsOf(file())).silent).toEqual([]);
    await expect(joined(clips, { fade: 0.5 })).rejects.toThrow(
      /clip 2 of 3 \(step-b\.mp4\) is 0\.60 s long, too short for its cross-fades/,
    );
  });
});

test("the same clips give the same bytes", async () => {
  const clips = [await plain("r.mp4", "red"), await drawClip(path("a.mp4"), { seconds: 0.5 })];
  const [one, two] = [await joined(clips), await joined(clips)];
  expect(readFileSync(one.file()).equals(readFileSync(two.file()))).toBe(true);
});

test("a damaged clip is named", async () => {
  const [whole, red] = [await drawClip(path("a.mp4")), await plain("r.mp4", "red")];
  writeFileSync(path("half.mp4"), readFileSync(whole).subarray(0, 12_000));
  writeFileSync(path("empty.mp4"), "");
  writeFileSync(path("list.mp4"), `ffconcat version 1.0\nfile '${whole}'\n`);
  for (const name of ["half.mp4", "empty.mp4", "list.mp4"])
    await expect(joined([red, path(name)])).rejects.toThrow(`clip 2 of 2 (step-${name})`);
  await expect(joined([])).rejects.toThrow("there are no clips to join");
});

test("a part of a film is exact to the frame", async () => {
  const film = await drawClip(path("a.mp4"), { seconds: 1 });
  const cut = await make(folder, (task) => trim(task, "t", fileOf("video", film), { from: 0.2, to: 0.6 }));
  const probed = await probe(cut.file());
  expect(probed.seconds).toBeCloseTo(0.4, 2);
  expect(probed.audio!.seconds).toBeCloseTo(0.4, 1);
  expect(cut.value).toEqual({ seconds: 0.4, starts: [-0.2], lengthNote: null });
  const none = make(folder, (task) => trim(task, "t", fileOf("video", film), { from: 2 }));
  await expect(none).rejects.toThrow(/the range from 2 s/);
});
