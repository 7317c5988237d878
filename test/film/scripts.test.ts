/** Captions in scripts with and without spaces, from the left and from the right, and of words that no line holds. */

import { readFileSync } from "node:fs";
import { join as at } from "node:path";
import { expect, test } from "vitest";
import { alignWords } from "../../src/film/captions/align.ts";
import { piecesOf, sentencesOf, widthOf } from "../../src/film/captions/breaks.ts";
import { cuesOf, limitsFor, textOf } from "../../src/film/captions/cues.ts";
import { placeLowerThird } from "../../src/film/captions/lower-third.ts";
import { caption } from "../../src/film/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";

const folder = newFolder();

/** Four of each script: short, of a usual length, long, and without a place to break. */
const captions = {
  Latin: ["Bread.", "Fresh bread from five in the morning, every day.", "Fresh bread from five in the morning, ".repeat(6), "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz".repeat(2)],
  Cyrillic: ["Хлеб.", "Свежий хлеб с пяти утра, каждый день недели.", "Свежий хлеб с пяти утра, ".repeat(8), "ЩШЖЮ".repeat(20)],
  Greek: ["Ψωμί.", "Φρέσκο ψωμί από τις πέντε το πρωί, κάθε μέρα.", "Φρέσκο ψωμί από τις πέντε, ".repeat(7), "Ψωμί".repeat(20)],
  Arabic: ["خبز.", "خبز طازج من الخامسة صباحًا كل يوم من أيام الأسبوع.", "خبز طازج من الخامسة صباحًا ".repeat(8), "خبز".repeat(30)],
  Hebrew: ["לחם.", "לחם טרי מחמש בבוקר, כל יום בשבוע.", "לחם טרי מחמש בבוקר ".repeat(8), "לחם".repeat(30)],
  Devanagari: ["रोटी।", "सुबह पाँच बजे से ताज़ी रोटी, हर दिन।", "सुबह पाँच बजे से ताज़ी रोटी ".repeat(8), "रोटी".repeat(30)],
  Chinese: ["面包。", "每天早上五点开始供应新鲜出炉的面包，一周七天从不间断。", "每天早上五点开始供应新鲜出炉的面包，欢迎光临本店。".repeat(5), "面".repeat(80)],
  Japanese: ["パン。", "毎朝五時から焼きたてのパンを、毎日お届けします。", "毎朝五時から焼きたてのパンをお届けします。".repeat(6), "ー".repeat(60)],
  Korean: ["빵.", "매일 아침 다섯 시부터 갓 구운 빵을 드립니다.", "매일 아침 다섯 시부터 갓 구운 빵을 ".repeat(7), "빵".repeat(70)],
  Thai: ["ขนมปัง", "ขนมปังสดใหม่ตั้งแต่ตีห้าทุกวันตลอดทั้งสัปดาห์", "ขนมปังสดใหม่ตั้งแต่ตีห้าทุกวัน".repeat(6), "ก".repeat(90)],
} as const; // biome-ignore format: one line
const formats = { "16:9": [1920, 1080], "9:16": [1080, 1920], "1:1": [1080, 1080], "4:5": [1080, 1350] } as const;
const cuesFor = (text: string, letters: number) =>
  cuesOf(alignWords(text, { start: 0, end: 60 }, [{ start: 0, end: 60 }]), { letters });

test.each(Object.keys(captions) as (keyof typeof captions)[])(
  "captions in %s have two lines that fit, of whole words, and nothing is lost",
  (script) => {
    for (const [format, [width, height]] of Object.entries(formats)) {
      const { letters } = limitsFor({ width, height });
      for (const [index, text] of captions[script].entries()) {
        const cues = cuesFor(text, letters);
        for (const { text: shown } of cues) {
          const lines = shown.split("\n");
          expect(lines.length).toBeLessThanOrEqual(2);
          for (const line of lines) expect([format, line, widthOf(line) <= letters]).toEqual([format, line, true]);
          // Nothing is broken that has a place to be broken at.
          if (index < 3)
            for (const line of lines) expect(piecesOf(text).some((piece) => line.endsWith(piece.text))).toBe(true);
        }
        expect(textOf(cues.flatMap(({ words }) => words))).toBe(text.trim());
      }
    }
  },
);

test("a sound mark is as wide as its letters, and digits are as wide as the letters of most words", () => {
  expect(widthOf("スーパー")).toBe(widthOf("スパスパ"));
  expect(widthOf("0".repeat(20))).toBeGreaterThan(widthOf("n".repeat(20)));
});

test("no line begins with what closes and none ends with what opens", () => {
  const text = "他说：「我们每天早上五点开始烤面包。」然后（像往常一样）他打开了门，走了进去。".repeat(3);
  for (const { text: shown } of cuesFor(text, 16))
    for (const line of shown.split("\n")) expect(line).not.toMatch(/^[，。、」）：]|[「（]$/);
  expect(piecesOf("don't stop well-known 3.14").map((piece) => piece.text)).toEqual(["don't", "stop", "well-known", "3.14"]); // biome-ignore format: one line
});

test("a script is cut into its sentences, whatever ends them, and a number is none", () => {
  expect(sentencesOf("It costs 3.14 dollars. Really?\nنعم؟ لا. रोटी। हाँ। 面包。好！")).toEqual([
    "It costs 3.14 dollars.", "Really?", "نعم؟", "لا.", "रोटी।", "हाँ।", "面包。", "好！",
  ]); // biome-ignore format: one line
});

test("a lower third in a script without spaces is broken into its lines, or refused", () => {
  const lower = (title: string) => ({ title, at: 0, seconds: 1, style: {} });
  const [width, height] = formats["9:16"];
  const { lines } = placeLowerThird({ width, height }, lower("每天早上五点开始供应新鲜出炉的面包"));
  expect(lines.join("")).toBe("每天早上五点开始供应新鲜出炉的面包");
  expect(lines.length).toBeLessThanOrEqual(2);
  expect(() => placeLowerThird({ width, height }, lower("面".repeat(80)))).toThrow("do not fit in the lower third");
});

test("drawn, nothing of them reaches the edges of the picture, and what is read from the right ends at the left", async () => {
  const film = at(folder, "black.mp4");
  const texts = [
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW MMMMMMMMMMMMMMMMM",
    captions.Latin[3],
    captions.Cyrillic[3],
    captions.Arabic[3],
    "ABC",
  ];
  await drawClip(film, {
    size: "270x480",
    fps: 2,
    seconds: texts.length,
    tone: null,
    more: ["-vf", "drawbox=c=black:t=fill"],
  });
  const lines = texts.map((text, index) => ({
    text,
    words: [{ text, start: index, end: index + 1 }],
  }));
  const { file } = await make(folder, (task) => caption(task, "c", fileOf("video", film), { lines }));
  const raw = at(folder, "drawn.gray");
  await ffmpeg("-v", "error", "-i", file(), "-vf", "format=gray", "-f", "rawvideo", raw);
  const bytes = readFileSync(raw);
  const isLit = (from: number, to: number) =>
    bytes.some((level, at) => at % 270 >= from && at % 270 < to && level > 60);
  expect(isLit(20, 250)).toBe(true);
  expect(isLit(0, 12)).toBe(false);
  expect(isLit(258, 270)).toBe(false);
});
