import { readFileSync } from "node:fs";
import { join as at } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { TaskOptions } from "../../src/core/define/index.ts";
import { alignLines, alignWords } from "../../src/film/captions/align.ts";
import { assText } from "../../src/film/captions/ass.ts";
import { sentencesOf } from "../../src/film/captions/breaks.ts";
import { cuesOf, srt, vtt } from "../../src/film/captions/cues.ts";
import { findSpeech } from "../../src/film/captions/speech.ts";
import type { Task } from "../../src/film/film-task.ts";
import { type CaptionOptions, caption, overlay } from "../../src/film/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw, drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";
import { colorAt, picturesOf } from "./support/measure.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const voice = at(import.meta.dirname, "../../recipes/assets/voice-sample.wav");

describe("a script over its speech", () => {
  const RATE = 16_000;
  /** A voice that speaks in these stretches, as a tone, in a room that is not quite silent. */
  const spoken = (spans: readonly (readonly [number, number])[], seconds: number) =>
    Int16Array.from({ length: seconds * RATE }, (_, index) => {
      const isSpoken = spans.some(([start, end]) => index >= start * RATE && index < end * RATE);
      return (isSpoken ? 8000 : 12) * Math.sin(index / 7);
    });

  test("speech is found to the hundredth of a second, and no pause within a word", () => {
    const found = findSpeech(spoken([[0.3, 1.2], [1.28, 2], [2.6, 3.1]], 4)); // biome-ignore format: one line
    expect(found.map(({ start, end }) => [start.toFixed(2), end.toFixed(2)])).toEqual([
      ["0.30", "2.00"],
      ["2.60", "3.10"],
    ]);
    expect(findSpeech(new Int16Array(RATE))).toEqual([]);
  });

  test("a line ends at the pause that is nearest to its length, though there are others", () => {
    const speech = [
      { start: 0.2, end: 1 },
      { start: 1.3, end: 2.4 },
      { start: 2.9, end: 4.1 },
      { start: 4.5, end: 5 },
    ];
    const lines = ["This one, with a comma, takes so long.", "And this one is as long as the other.", "Short."];
    expect(alignLines(lines, speech)).toEqual([
      { start: 0.2, end: 2.4 },
      { start: 2.9, end: 4.1 },
      { start: 4.5, end: 5 },
    ]);
  });

  test("lines and words lie in order within the speech, whatever both are", () => {
    const spans = fc
      .array(fc.tuple(fc.double({ min: 0.13, max: 1, noNaN: true }), fc.double({ min: 0.1, max: 3, noNaN: true })), {
        minLength: 1,
        maxLength: 12,
      })
      .map((all) => {
        let clock = 0;
        return all.map(([pause, length]) => {
          const start = clock + pause;
          clock = start + length;
          return { start, end: clock };
        });
      });
    const lines = fc.array(fc.stringMatching(/^[a-z]{1,9}( [a-z]{1,9}){0,12}$/), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(lines, spans, (texts, speech) => {
        const timed = alignLines(texts, speech);
        expect(timed).toHaveLength(texts.length);
        expect(timed[0]!.start).toBe(speech[0]!.start);
        expect(timed.at(-1)!.end).toBeCloseTo(speech.at(-1)!.end, 6);
        for (const [index, span] of timed.entries()) {
          expect(span.end).toBeGreaterThanOrEqual(span.start);
          if (index > 0) expect(span.start).toBeGreaterThanOrEqual(timed[index - 1]!.end - 1e-6);
          const words = alignWords(texts[index]!, span, speech);
          expect(words.map(({ text }) => text).join(" ")).toBe(texts[index]);
          expect([words[0]!.start, words.at(-1)!.end]).toEqual([span.start, span.end]);
          for (const [at, word] of words.entries()) {
            expect(word.end).toBeGreaterThanOrEqual(word.start - 1e-6);
            if (at > 0) expect(word.start).toBeGreaterThanOrEqual(words[at - 1]!.end - 1e-6);
          }
        }
      }),
    );
  });

  test("a cue is two short lines of whole words, and all words are shown", () => {
    const words = (text: string) => alignWords(text, { start: 0, end: 10 }, [{ start: 0, end: 10 }]);
    const sentence =
      "From up here, every field is a page that somebody has written, and every road is a line between them.";
    const cues = cuesOf(words(sentence), { letters: 30 });
    expect(cues.map(({ text }) => text.replace("\n", " ")).join(" ")).toBe(sentence);
    for (const { text } of cues) for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(34);
    expect(cuesOf(words("Short."), { letters: 30 }).map(({ text }) => text)).toEqual(["Short."]);
  });

  test("a sentence is a line of the script, in any script", () => {
    expect(sentencesOf('One. "Two?" Three…\nFour 今日は。元気？')).toEqual([
      "One.",
      '"Two?"',
      "Three…",
      "Four 今日は。",
      "元気？",
    ]);
  });
});

test("files of captions are as their players read them", () => {
  const cues = [{ start: 3661.5, end: 3663.0004, text: "a < b & c\nd", words: [] }];
  expect(srt(cues)).toBe("1\n01:01:01,500 --> 01:01:03,000\na < b & c\nd\n");
  expect(vtt(cues)).toBe("WEBVTT\n\n01:01:01.500 --> 01:01:03.000\na &lt; b &amp; c\nd\n");
  const timing = { ...cues[0]!, text: "00:00:01,000 --> 09:00:00,000" };
  expect(srt([timing]).match(/-->/g)).toHaveLength(1);
  expect(vtt([timing]).match(/-->/g)).toHaveLength(1);
  expect(assText("a\rDialogue: b\r\nc\0d")).toBe("a\\NDialogue: b\\Nc\\Nd");
  expect(assText("{\\b1}\n\\N")).not.toMatch(/(?<!\\)\{|\\[bN](?!$)(?!\\)/);
});

describe("captions of a film", () => {
  beforeAll(async () => {
    await drawClip(path("plain.mp4"), { seconds: 1, tone: null });
    await draw(path("said.mp4"), "color=black:s=320x180:r=10:d=5", "-i", voice, "-pix_fmt", "yuv420p");
  });
  const lines = "A page that somebody has written. And another one.";
  const captioned = (options: Omit<CaptionOptions, "lines">, name = "said.mp4") =>
    make(folder, (task) => caption(task, "c", fileOf("video", path(name)), { lines, ...options }));

  test("are drawn while the words are said, with a word of another colour, and beside it as files", async () => {
    const { value, file } = await captioned({ style: { highlight: "#ff0000", color: "#ffffff" } });
    const lit = async (seconds: number) => (await colorAt(file(), seconds, "iw:ih/3:0:ih*2/3"))[0];
    expect(await lit(0.05)).toBeLessThan(4);
    expect(await lit(1)).toBeGreaterThan(8);
    expect(await lit(4.8)).toBeLessThan(4);
    const { cues, fonts } = value as {
      readonly cues: readonly { readonly start: number }[];
      readonly fonts: readonly string[];
    };
    expect(cues[0]!.start).toBeLessThan(0.25);
    expect(fonts).toEqual([expect.stringMatching(/./)]);
    expect(readFileSync(file("captions.srt"), "utf8")).toMatch(/^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nA page that/);
    expect(readFileSync(file("captions.vtt"), "utf8")).toMatch(/^WEBVTT\n\n00:00:00\./);
  });

  test("are a track of their own on request, and the pictures stay as they are", async () => {
    const { file } = await captioned({ burn: false });
    expect(await ffmpeg("-v", "error", "-i", file(), "-map", "0:s:0", "-f", "srt", "-")).toContain(
      "A page that somebody",
    );
    expect(await picturesOf(file())).toBe(await picturesOf(path("said.mp4")));
  });

  test("come when a voice says them, or each word where that is known", async () => {
    const spoken = { text: "Hello there", voice: fileOf("audio", voice), at: 1 };
    const known = { text: "x", at: 0.5, words: [{ text: "Known", start: 0.1, end: 0.3 }] };
    const { value } = await make(folder, (task) =>
      caption(task, "c", fileOf("video", path("plain.mp4")), { lines: [known, spoken], burn: false }),
    );
    expect(value).toMatchObject({ cues: [{ text: "Known", start: 0.6, end: 0.8 }, { text: "Hello there" }] });
    expect((value as { cues: readonly { start: number }[] }).cues[1]!.start).toBeCloseTo(1.15, 1);
  });

  test("of letters that no font has are an error that names them, in the plan where they are known", async () => {
    const unknown = "\u{10fffd}";
    const message =
      /neither Such Sans nor any other installed font has \u{10fffd} \(U\+10FFFD\), which would render as boxes/u;
    const style = { font: "Such Sans" };
    const film = fileOf("video", path("plain.mp4"));
    const requires: (() => Promise<string | null>)[] = [];
    const task = ((_name: string, _input: unknown, _run: unknown, options: TaskOptions) => {
      requires.push(options.requires as never);
      return { file: () => film, value: {} };
    }) as unknown as Task;
    const word = (text: string) => ({ text, start: 0, end: 0.5 });
    caption(task, "script", film, { lines: `A ${unknown}.`, style });
    caption(task, "words", film, {
      lines: [{ text: "x", words: [word("e\u0301✓\ufe0f\u200d"), word(unknown)] }],
      style,
    });
    overlay(task, "lower", film, { lowerThird: { title: "x", subtitle: unknown, style } });
    caption(task, "shaped", film, { lines: "e\u0301 ✓\ufe0f\u200d {\\b1}\tx", style });
    caption(task, "track", film, { lines: unknown, style, burn: false });
    caption(task, "later", film, { lines: { step: "x", yields: "value", form: "single" } as never, style });
    const found = await Promise.all(requires.map((asks) => asks()));
    expect(found).toEqual([...Array(3).fill(expect.stringMatching(message)), null, null, null]);
    const drawn = { lines: [{ text: "x", words: [word(unknown)] }], style };
    await expect(make(folder, (step) => caption(step, "c", film, drawn))).rejects.toThrow(message);
    const lower = { title: unknown, style };
    await expect(make(folder, (step) => overlay(step, "o", film, { lowerThird: lower }))).rejects.toThrow(message);
  });

  test("of a film in which nobody speaks, or of colours that are none, are errors", async () => {
    await expect(captioned({}, "plain.mp4")).rejects.toThrow(/no speech was found in the video/);
    await expect(captioned({ style: { color: "red" } })).rejects.toThrow(/color is "red"; use a color/);
    await expect(captioned({ style: { fontFile: "/none.ttf" } })).rejects.toThrow(
      /the font file \/none.ttf cannot be read/,
    );
  });
});
