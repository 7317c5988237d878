/** WAV as speech services stream it: its header was written before anybody knew how much sound would follow. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join as at } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { damageOf, measureMedia } from "../../src/core/engine/media/media-reader.ts";
import { previewMark } from "../../src/core/marks/index.ts";
import { findFlaws } from "../../src/film/checks/find-flaws.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { audiogram, caption, mix } from "../../src/film/index.ts";
import { sampled } from "../support/sample.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);

/** By the sizes that services were seen to write. */
const sizes = {
  "0xFFFFFFFF": [0xffff_ffff, 0xffff_ffff],
  "0x7FFFFFFF": [0x7fff_ffff, 0x7fff_ffff],
  "0x7FFFFFFF less its header": [0x7fff_ffff, 0x7fff_ffff - 36],
  zero: [0, 0],
  "two billion": [2_000_000_036, 2_000_000_000],
  "what ffmpeg writes to a pipe": null,
} as const;
const names = Object.keys(sizes) as (keyof typeof sizes)[];

beforeAll(async () => {
  const tone = ["-v", "error", "-f", "lavfi", "-i", "sine=f=440:d=3:r=24000", "-ac", "1", "-bitexact"];
  await ffmpeg(...tone, path("right.wav"));
  const right = readFileSync(path("right.wav"));
  for (const [name, given] of Object.entries(sizes)) {
    if (given === null) {
      // A header of ffmpeg's own, as `-f wav -` leaves it.
      await ffmpeg(...tone, "-f", "wav", "-seekable", "0", path(`${name}.wav`)).catch(() => {});
      continue;
    }
    const streamed = Buffer.from(right);
    streamed.writeUInt32LE(given[0], 4);
    streamed.writeUInt32LE(given[1], right.indexOf("data") + 4);
    writeFileSync(path(`${name}.wav`), streamed);
  }
  await drawClip(path("silent.mp4"), { seconds: 4, tone: null, fps: 10 });
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", "color=blue:s=320x320", "-frames:v", "1", path("cover.png"));
});

describe.each(sampled(names, 3))("a WAV with the size %s", (name) => {
  const file = () => path(`${name}.wav`);
  const sound = () => fileOf("audio", file());

  test("is three seconds long wherever it is measured, and no damage [G12]", async () => {
    expect(readFileSync(file()).readUInt32LE(4)).not.toBe(readFileSync(path("right.wav")).readUInt32LE(4));
    expect((await probe(file())).seconds).toBeCloseTo(3, 2);
    expect(await measureMedia(file(), "audio")).toMatchObject({ contentType: "audio/wav", durationMs: 3_000 });
    const stated = { contentType: "audio/wav", width: null, height: null };
    expect(await damageOf(file(), { ...stated, durationMs: 3_000 })).toBeNull();
    expect(await damageOf(file(), { ...stated, durationMs: 6_000 })).toBe("it lasts 3000 ms, not 6000 ms");
    expect(await findFlaws({ path: file(), signal: new AbortController().signal }, { speech: true })).toEqual([]);
  });

  test("can be marked", async () => {
    expect((await previewMark(file(), { digitalSourceType: "trainedAlgorithmicMedia" })).status).toBe("marked");
  });

  test("is mixed, shown as a wave and captioned like the same file with right sizes", async () => {
    const mixed = await make(folder, (task) =>
      mix(task, "mix", fileOf("video", path("silent.mp4")), { voice: [sound(), { sound: sound(), at: 0.5 }] }),
    );
    expect(mixed.value).toMatchObject({ seconds: 4, voices: [0, 0.5] });
    const wave = await make(folder, (task) =>
      audiogram(task, "wave", sound(), { picture: fileOf("image", path("cover.png")), size: "320x320" }),
    );
    expect(wave.value).toMatchObject({ seconds: 3 });
    expect((await probe(wave.file())).seconds).toBeCloseTo(3, 1);
    const told = await make(folder, (task) =>
      caption(task, "told", fileOf("video", path("silent.mp4")), {
        lines: [{ text: "A tone.", voice: sound() }],
        burn: false,
      }),
    );
    expect(told.value).toMatchObject({ cues: [{ start: expect.closeTo(0, 1), end: expect.closeTo(3, 1) }] });
    expect(readdirSync(at(wave.file(), "..")).sort()).toEqual(["film.mp4"]);
  });
});

test("a WAV of which the end is missing is damaged as before: its size is one that it could have had", async () => {
  const bytes = readFileSync(path("right.wav"));
  writeFileSync(path("cut.wav"), bytes.subarray(0, bytes.length / 2));
  const stated = { contentType: "audio/wav", width: null, height: null, durationMs: null };
  expect(await damageOf(path("cut.wav"), stated)).toBe("part of its audio is missing");
  const mixing = make(folder, (task) =>
    mix(task, "mix", fileOf("video", path("silent.mp4")), { voice: fileOf("audio", path("cut.wav")) }),
  );
  await expect(mixing).rejects.toMatchObject({ code: "CLIP_DAMAGED", message: expect.stringContaining("voice 1") });
});
