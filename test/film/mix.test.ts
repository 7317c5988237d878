import { join as at } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { type MixOptions, mix } from "../../src/film/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw, drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";
import { loudnessOf, picturesOf } from "./support/measure.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const voice = at(import.meta.dirname, "../../recipes/assets/voice-sample.wav");
beforeAll(async () => {
  await drawClip(path("silent.mp4"), { seconds: 6, tone: null, fps: 10 });
  await draw(path("music.wav"), "sine=f=3000:d=1:r=48000");
  await draw(path("peaks.wav"), "aevalsrc='0.05*sin(900*t)+if(lt(mod(t,1),0.002),0.9,0)':d=6");
});

const mixed = (options: MixOptions, film = "silent.mp4") =>
  make(folder, (task) => mix(task, "mix", fileOf("video", path(film)), options));

/** Level of the music alone in a stretch of a file, dB. */
async function musicLevel(file: string, from: number, to: number): Promise<number> {
  const filter = `atrim=${from}:${to},highpass=f=2800:p=2,lowpass=f=3200:p=2,volumedetect`;
  const said = await ffmpeg("-i", file, "-map", "0:a:0", "-af", filter, "-f", "null", "-");
  return Number(/mean_volume: (\S+) dB/.exec(said)![1]);
}

describe("a mix", () => {
  test.each([-14, -16])(
    "has %s LUFS and no peak above -1 dB, and leaves the pictures as they are",
    async (loudness) => {
      const { value, file } = await mixed({
        voice: fileOf("audio", voice),
        music: fileOf("audio", path("music.wav")),
        loudness,
      });
      const measured = await loudnessOf(file());
      expect(Math.abs(measured.integrated - loudness)).toBeLessThan(1);
      expect(measured.truePeak).toBeLessThanOrEqual(-1);
      expect(value).toMatchObject({ voices: [0], seconds: 6, starts: [0] });
      expect((await probe(file())).seconds).toBeCloseTo(6, 2);
      expect(await picturesOf(file())).toBe(await picturesOf(path("silent.mp4")));
    },
  );

  test("of quiet sound with high peaks gets loud by a limiter", async () => {
    const { file } = await mixed({ effects: [fileOf("audio", path("peaks.wav"))] });
    const measured = await loudnessOf(file());
    expect(Math.abs(measured.integrated + 14)).toBeLessThan(1);
    expect(measured.truePeak).toBeLessThanOrEqual(-1);
  });

  test("lets the music step back under the voice, and repeats it to the end, where it fades", async () => {
    const options = {
      voice: { sound: fileOf("audio", voice), at: 1 },
      music: fileOf("audio", path("music.wav")),
      loudness: null,
    };
    const { file } = await mixed(options);
    const [before, under] = [await musicLevel(file(), 0.2, 0.9), await musicLevel(file(), 1.6, 3)];
    expect(before - under).toBeGreaterThan(6);
    expect(before - under).toBeLessThan(20);
    const plain = await mixed({ ...options, duck: 0 });
    expect(await musicLevel(plain.file(), 1.6, 3)).toBeCloseTo(await musicLevel(plain.file(), 0.2, 0.9), 0);
    expect(await musicLevel(plain.file(), 5.8, 6)).toBeLessThan((await musicLevel(plain.file(), 4, 4.3)) - 10);
  });

  test("holds the last picture for a voice that lasts longer, and puts one voice after the other", async () => {
    await drawClip(path("short.mp4"), { seconds: 2, fps: 10 });
    const { value, file } = await mixed(
      { voice: [fileOf("audio", voice), fileOf("audio", voice)], own: null },
      "short.mp4",
    );
    const film = await probe(file());
    expect(film.seconds).toBeCloseTo(8.63, 1);
    expect(film.audio!.seconds).toBeCloseTo(film.seconds, 1);
    expect((value as { readonly voices: readonly number[] }).voices[1]).toBeCloseTo(4.317, 2);
  });

  test("of nothing, or of what is no sound, is an error", async () => {
    await expect(mixed({})).rejects.toThrow(/there is nothing to mix/);
    await expect(mixed({ voice: fileOf("audio", path("silent.mp4")) })).rejects.toThrow("voice 1 has no audio");
  });
});
