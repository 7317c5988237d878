import { readFileSync, writeFileSync } from "node:fs";
import { join as at } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { join } from "../../src/film/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { type ClipSettings, draw, drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";
import { gapsOf, loudnessOf, pictureSeconds } from "./support/measure.ts";

const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 6);
const folder = newFolder();

const codings = [
  { ending: "mp4", codec: ["-c:v", "libx264", "-preset", "ultrafast"] },
  {
    ending: "mp4",
    codec: ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-tag:v", "hvc1"],
  },
  { ending: "webm", codec: ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"] },
  { ending: "mov", codec: ["-c:v", "mpeg4"] },
  { ending: "mkv", codec: ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"] },
] as const;

const side = fc.integer({ min: 32, max: 240 }).map((half) => half * 2);
const clip = fc.record({
  coding: fc.constantFrom(...codings),
  size: fc.tuple(side, side),
  fps: fc.constantFrom(12, 15, 23.976, 24, 25, 29.97, 30, 50, 60),
  seconds: fc.integer({ min: 30, max: 173 }).map((hundredths) => hundredths / 100),
  tone: fc.option(fc.integer({ min: 200, max: 1200 }), { freq: 3 }),
  aspect: fc.constantFrom("1", "1", "1", "4/3", "8/9"),
  rotation: fc.constantFrom(0, 0, 0, 90, 180, 270),
  damage: fc.constantFrom("none", "none", "none", "none", "none", "none", "none", "none", "cut", "noise", "playlist"),
});
const set = fc.record({
  clips: fc.array(clip, { minLength: 1, maxLength: 6 }),
  size: fc.constantFrom(undefined, "320x180" as const, "480x270" as const, "180x320" as const),
  fps: fc.constantFrom(undefined, 24, 25, 30),
  fit: fc.constantFrom("crop" as const, "pad" as const, "blur" as const),
});
type Drawn = typeof clip extends fc.Arbitrary<infer T> ? T : never;

const joined = (paths: readonly string[], options = {}) => {
  const clips = paths.map((path) => fileOf("video", path));
  return make(folder, (task) => join(task, "cut", clips, options));
};

let count = 0;

async function drawn({
  coding,
  size: [width, height],
  fps,
  seconds,
  tone,
  aspect,
  rotation,
  damage,
}: Drawn): Promise<string> {
  const path = at(folder, `clip-${++count}.${coding.ending}`);
  const more = ["-vf", `setsar=${aspect}`, ...(coding.ending === "webm" ? [] : ["-c:a", "aac"])];
  const settings: ClipSettings = { size: `${width}x${height}`, fps, seconds, tone, codec: coding.codec, more };
  await drawClip(path, settings);
  if (rotation !== 0 && (coding.ending === "mp4" || coding.ending === "mov")) {
    const turned = at(folder, `turned-${count}.${coding.ending}`);
    await ffmpeg("-v", "error", "-i", path, "-c", "copy", "-metadata:s:v", `rotate=${rotation}`, turned);
    writeFileSync(path, readFileSync(turned));
  }
  const bytes = readFileSync(path);
  if (damage === "cut") writeFileSync(path, bytes.subarray(0, Math.floor(bytes.length * 0.6)));
  if (damage === "noise")
    writeFileSync(path, Buffer.from(bytes.map((byte, index) => (index % 3 === 0 ? byte ^ 0x5a : byte))));
  if (damage === "playlist") writeFileSync(path, `#EXTM3U\n#EXTINF:2,\nfile:///etc/hostname\n`);
  return path;
}

test(`${runs} sets of clips: as long as they are together, of the size asked for, as loud, with no black and no silence that was not there`, async () => {
  for (const [index, { clips, ...options }] of fc.sample(set, runs).entries()) {
    const paths: string[] = [];
    for (const one of clips) paths.push(await drawn(one));
    const said = `set ${index}: ${JSON.stringify({ clips, ...options })}`;
    const add = () => joined(paths, JSON.parse(JSON.stringify(options)));
    const damaged = clips.findIndex(({ damage }) => damage !== "none");
    if (damaged >= 0) {
      await expect(add(), said).rejects.toMatchObject({
        code: "CLIP_DAMAGED",
        message: expect.stringContaining(`clip ${damaged + 1} of ${clips.length}`),
      });
      continue;
    }
    const { file } = await add();
    const film = await probe(file());
    const parts = await Promise.all(
      paths.map(async (path) => ({ ...(await probe(path)), seconds: await pictureSeconds(path) })),
    );
    const together = parts.reduce((sum, { seconds }) => sum + seconds, 0);
    expect(Math.abs(film.seconds - together), `${said}: ${film.seconds} of ${together} s`).toBeLessThan(0.05);
    if (options.size !== undefined) expect(`${film.video!.width}x${film.video!.height}`, said).toBe(options.size);
    if (options.fps !== undefined) expect(film.video!.fps, said).toBeCloseTo(options.fps, 1);
    const { black, silent } = await gapsOf(file());
    expect(black, said).toEqual([]);
    expect(film.audio !== null, said).toBe(clips.some(({ tone }) => tone !== null));
    if (film.audio === null) continue;
    expect(Math.abs(film.audio.seconds - film.seconds), said).toBeLessThan(0.05);
    expect(
      silent.filter((gap) => !isWithin(gap, silences(parts))),
      said,
    ).toEqual([]);
    await soundsAlike(paths, parts, file(), said);
  }
}, 3_600_000);

interface Part {
  readonly seconds: number;
  readonly audio: unknown;
}

/** Where clips without sound stand, seconds. */
function silences(parts: readonly Part[]): readonly (readonly [number, number])[] {
  const spans: [number, number][] = [];
  let start = 0;
  for (const { seconds, audio } of parts) {
    if (audio === null && spans.at(-1)?.[1] === start) spans.at(-1)![1] = start + seconds;
    else if (audio === null) spans.push([start, start + seconds]);
    start += seconds;
  }
  return spans;
}

/** Whether a gap lies where one is due: the ends of sounds are coded in blocks, and those of pictures are whole frames. */
function isWithin(gap: string, spans: readonly (readonly [number, number])[]): boolean {
  const [, from, to] = /^(-?[\d.]+)-([\d.]+)$/.exec(gap)!.map(Number);
  return spans.some(([start, end]) => from! > start - 0.1 && to! < end + 0.1);
}

/** Each clip's own sound, at its place, as loud as it was within 1 dB; silence where it has none. */
async function soundsAlike(paths: readonly string[], parts: readonly Part[], film: string, said: string) {
  let start = 0;
  for (const [index, { seconds, audio }] of parts.entries()) {
    const [from, to] = [start + 0.08, start + seconds - 0.08];
    const made = await level(film, `atrim=${from}:${to},`);
    if (audio === null) expect(made, said).toBeLessThan(-60);
    else
      expect(
        Math.abs(made - (await level(paths[index]!, `atrim=0.08:${seconds - 0.08},`))),
        `${said}: clip ${index}`,
      ).toBeLessThan(1);
    start += seconds;
  }
}

/** RMS over both channels, dB. Tones of one length are compared, for which this is their loudness. */
async function level(path: string, cut: string): Promise<number> {
  const filter = `${cut}aformat=channel_layouts=stereo,volumedetect`;
  const output = await ffmpeg("-i", path, "-map", "0:a:0", "-af", filter, "-f", "null", "-");
  return Number(/mean_volume: (\S+) dB/.exec(output)?.[1] ?? -99);
}

test("clips of speech and music are as loud together as they were", async () => {
  const assets = at(import.meta.dirname, "../../recipes/assets");
  const clips = await Promise.all(
    ["voice-sample.wav", "song.wav"].map(async (name) => {
      const path = at(folder, `${name}.mp4`);
      await draw(path, "color=red:s=64x64:r=25:d=9", "-i", at(assets, name), "-shortest");
      return path;
    }),
  );
  for (const path of clips) {
    const [before, after] = [await loudnessOf(path), await loudnessOf((await joined([path])).file())];
    expect(Math.abs(before.integrated - after.integrated)).toBeLessThan(1);
  }
});
