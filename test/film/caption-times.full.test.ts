import { writeFileSync } from "node:fs";
import { join as at } from "node:path";
import { expect, test } from "vitest";
import type { Cue } from "../../src/film/captions/cues.ts";
import { findSpeech } from "../../src/film/captions/speech.ts";
import { caption } from "../../src/film/index.ts";
import { encodeSound, say } from "../../src/local-service/render/sound/render-speech.ts";
import { lengthOf, type Sound, toMono, toRate } from "../../src/local-service/render/sound/sound.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);

const script = [
  "The ferry leaves at nine.",
  "Tonight the harbour lights come on by themselves, and nobody knows who lit them.",
  "Listen.",
  "From up here, every field is a page that somebody has written.",
  "We will be back before the sun is up, with coffee and with news.",
] as const;

const RATE = 16_000;
const PAUSES = [0.35, 0.5, 0.28, 0.8, 0.4];

/** The first and the last moment of a sound that is louder than a fiftieth of its peak, seconds. */
function edges(samples: Float32Array) {
  const peak = samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const isLoud = (one: number) => Math.abs(one) > peak / 50;
  return { start: samples.findIndex(isLoud) / RATE, end: samples.findLastIndex(isLoud) / RATE };
}

test.each(["slt", "rms", "awb"] as const)(
  "each line of %s is captioned while it is said, within 80 ms",
  async (voice) => {
    const said = await Promise.all(script.map(async (line) => toMono(toRate((await say(line, voice, 1))!, RATE))));
    const truth: { readonly start: number; readonly end: number }[] = [];
    const parts: Float32Array[] = [];
    let clock = 0;
    for (const [index, samples] of said.entries()) {
      const { start, end } = edges(samples);
      // The voice's own silence at both ends is cut, so that the pauses are known.
      const spoken = samples.subarray(Math.round(start * RATE), Math.round(end * RATE));
      const pause = new Float32Array(Math.round(PAUSES[index]! * RATE));
      clock += pause.length / RATE;
      truth.push({ start: clock, end: clock + spoken.length / RATE });
      clock += spoken.length / RATE;
      parts.push(pause, spoken);
    }
    const whole: Sound = { rate: RATE, channels: [Float32Array.from(parts.flatMap((part) => [...part]))] };
    expect(lengthOf(whole)).toBeGreaterThan(RATE * 8);
    writeFileSync(path(`${voice}.wav`), await encodeSound(whole, "wav"));
    const source = ["-f", "lavfi", "-i", "color=navy:s=320x180:r=10:d=60", "-i", path(`${voice}.wav`), "-shortest"];
    await ffmpeg("-v", "error", ...source, "-pix_fmt", "yuv420p", path(`${voice}.mp4`));
    const made = await make(folder, (task) =>
      caption(task, "c", fileOf("video", path(`${voice}.mp4`)), { lines: script.join(" "), burn: false }),
    );
    const { cues } = made.value as { readonly cues: readonly Cue[] };
    const off = script.map((line, index) => {
      const own = cues.filter((cue) => cue.start > truth[index]!.start - 0.2 && cue.end < truth[index]!.end + 0.2);
      expect(own.map(({ text }) => text.replace("\n", " ")).join(" ")).toBe(line);
      return [Math.abs(own[0]!.start - truth[index]!.start), Math.abs(own.at(-1)!.end - truth[index]!.end)];
    });
    expect(Math.max(...off.flat())).toBeLessThan(0.08);
    expect(findSpeech(new Int16Array(0))).toEqual([]);
  },
);
