/** What somebody gives who wants in: each attack is refused or drawn, in bounds, and leads to no other file. */

import { execFileSync } from "node:child_process";
import { closeSync, constants, copyFileSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join as at } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FilmError } from "../../src/film/ffmpeg/film-error.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import type { Task } from "../../src/film/film-task.ts";
import { caption, join, mix, overlay, reframe, slideshow, thumbnail, trim } from "../../src/film/index.ts";
import { isFull } from "../support/sample.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { drawClip, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
/** A pipe that nobody writes to: who opens it waits, and is seen. */
const secret = path("secret");
let isOpened = false;
const look = () => {
  try {
    closeSync(openSync(secret, constants.O_WRONLY | constants.O_NONBLOCK));
    isOpened = true;
  } catch {
    // Nobody reads it.
  }
};
let looking: NodeJS.Timeout;
afterAll(() => {
  clearInterval(looking);
});

beforeAll(async () => {
  execFileSync("mkfifo", [secret]);
  looking = setInterval(look, 10);
  await drawClip(path("film.mp4"), { seconds: 1, size: "64x48" });
  const still = (name: string, size: string, ...more: readonly string[]) =>
    ffmpeg("-v", "error", "-f", "lavfi", "-i", `color=blue:s=${size}:r=25`, "-frames:v", "1", ...more, path(name));
  await still("blue.png", "64x48");
  await still("tall.png", "2x8192");
  await still("wide.png", "8192x2");
  await still("huge.png", "9000x9000");
  await still("large.mkv", "9000x9000", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p");
  await still("long-pixels.mkv", "64x48", "-vf", "setsar=20000/1", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p");
  await still("tall.mkv", "16x4096", "-c:v", "mpeg4");
  const clock = (name: string, gap: number) =>
    ffmpeg(
      ...["-v", "error", "-f", "lavfi", "-i", "color=red:s=64x64:r=25", "-frames:v", "3", "-copyts"],
      ...["-vf", `settb=1/1000,setpts=N*${gap}*1000`, "-fps_mode", "passthrough", path(name)],
    );
  await clock("hours.mkv", 40_000);
  await clock("minutes.mkv", 130);
  await clock("instant.mkv", 0.001);
});

const TEXTS = [
  ...[
    "{\\an8\\p1}m 0 0 l 9999 0 9999 9999{\\p0}",
    "\\N\\n\\h{",
    "}{",
    "{\\fnX\\fs9999}x",
    "{\\t(0,99999,\\fscx99999)}x",
  ],
  ...[
    "Dialogue: 0,0:00:00.00,9:00:00.00,Main,,0,0,0,,x",
    "x\r\n[Events]\nDialogue: 0,x",
    "\0\n\0",
    "1\n00:00:00,000 --> 09:00:00,000\nx",
  ],
  ...[
    "x\n\n2\n00:00:01,000 --> 09:00:00,000\ny",
    "';movie=SECRET[x];[x]",
    "a:b,c;d[e]'f\\g%{pts}",
    "\u202e\u2066x\u0085y\u2028z",
    "<font size=999>x</font>",
  ],
  ...["x".repeat(2_000), "x ".repeat(500)],
];
const NAMES = [
  ...[
    "a;b[c]'d,e:f\\g.mp4",
    "-i.mp4",
    "%05d.mp4",
    "file:SECRET.mp4",
    "concat:a|b.mp4",
    "a\nb.mp4",
    "'$(id)`id`.mp4",
    "pipe:0",
    "a#b?c=d&e.mp4",
  ],
  ...["subfile,,start,0,end,9,,:x.mp4", "\u202egpj.mp4", "..mp4", "*.mp4", "data:video%2Fmp4;base64,AAAA"],
];
/** Files that lead to another one where they are opened as what they are. */
const LEADING = [
  "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:SECRET\n#EXT-X-ENDLIST\n",
  "ffconcat version 1.0\nfile 'SECRET'\n",
  "#EXTftyp\n#EXTM3U\n#EXTINF:1,\nSECRET\n",
  "\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x20moov\0\0\0\x18dref SECRET",
  "[playlist]\nFile1=SECRET\n",
  '<?xml version="1.0"?><MPD><Period><AdaptationSet><BaseURL>file://SECRET</BaseURL></AdaptationSet></Period></MPD>',
  '<svg xmlns="http://www.w3.org/2000/svg"><image href="file://SECRET" width="9" height="9"/></svg>',
  "v=0\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n",
  "concat:SECRET|SECRET",
  "\x1a\x45\xdf\xa3SECRET",
  "ID3\x04\0\0\0\0\0\x09SECRET",
  "[Script Info]\n[Events]\nDialogue: 0,0:00:00.00,0:00:09.00,Main,,0,0,0,,{\\1img(SECRET)}\n",
];
const FONTS = [
  "DejaVu Sans,99,&H0",
  "x\nStyle: Main,y",
  "a:fontsdir=SECRET",
  "';movie=SECRET",
  "\0",
  "x".repeat(5_000),
  "{\\fnx}",
];
const NUMBERS = [0, -1, Number.NaN, 1e300, "1", "0;movie=SECRET[film]", "1:2", [], {}, null, "__proto__"];

type Attack = { readonly what: string; readonly given: unknown; add(task: Task): unknown };
const film = (name = "film.mp4") => fileOf("video", path(name));
const picture = (name: string) => fileOf("image", path(name));
const here = (text: string) => text.replaceAll("SECRET", secret);
const of = <T>(what: string, given: readonly T[], add: (task: Task, one: T) => unknown): fc.Arbitrary<Attack> =>
  fc.constantFrom(...given).map((one) => ({ what, given: one, add: (task) => add(task, one) }));

let files = 0;
const written = (name: string, content: string) => {
  const own = path(`own-${++files}`);
  mkdirSync(own);
  writeFileSync(at(own, name), Buffer.from(here(content), "latin1"));
  return at(own, name);
};
const named = (name: string) => {
  const own = path(`own-${++files}`);
  mkdirSync(own);
  copyFileSync(path("film.mp4"), at(own, name));
  return at(own, name);
};

const attack = fc.oneof(
  of("text of a caption that is burnt in", TEXTS, (task, text) => caption(task, "x", film(), { lines: here(text) })),
  of("text of a caption in a track", TEXTS, (task, text) =>
    caption(task, "x", film(), { lines: here(text), burn: false }),
  ),
  of("words of a caption", TEXTS, (task, text) => {
    const words = [{ text: here(text), start: 0, end: 0.5 }];
    return caption(task, "x", film(), { lines: [{ text: "x", words }], style: { highlight: "#ff0000" } });
  }),
  of("title", TEXTS, (task, text) =>
    overlay(task, "x", film(), { lowerThird: { title: here(text), subtitle: here(text).slice(0, 30) } }),
  ),
  of("font", FONTS, (task, font) => caption(task, "x", film(), { lines: "a line", style: { font: here(font) } })),
  of("name of a file", NAMES, (task, name) => join(task, "x", [fileOf("video", named(name))])),
  of("playlist", LEADING, (task, content) => join(task, "x", [fileOf("video", written("clip.mp4", content)), film()])),
  of("playlist as music", LEADING, (task, content) =>
    mix(task, "x", film(), { music: fileOf("audio", written("music.mp3", content)) }),
  ),
  of("playlist as picture", LEADING, (task, content) =>
    slideshow(task, "x", [fileOf("image", written("x.png", content))]),
  ),
  of("font file", LEADING, (task, content) =>
    caption(task, "x", film(), { lines: "a line", style: { fontFile: written("x:y'.ttf", content) } }),
  ),
  of("cut", NUMBERS, (task, from) => trim(task, "x", film(), { from: { $given: from } as never, to: 1 })),
  of("place of a thumbnail", NUMBERS, (task, value) => thumbnail(task, "x", film(), { at: value as never })),
  of("place of a line", NUMBERS, (task, value) =>
    caption(task, "x", film(), { lines: [{ text: "x", at: value as never }] }),
  ),
  of("size of a picture", ["tall.png", "wide.png", "huge.png"], (task, name) =>
    slideshow(task, "x", [picture(name)], { seconds: 0.2, size: "480p" }),
  ),
  of("size of a logo", ["tall.png", "wide.png", "huge.png"], (task, name) =>
    overlay(task, "x", film(), { logo: { picture: picture(name), width: 1 } }),
  ),
  of(
    "size of a film",
    ["large.mkv", "long-pixels.mkv", "tall.mkv"],
    (task, name) => reframe(task, "x", film(name), { to: ["1:1"], size: "1080p" })["1:1"],
  ),
  of("size of what is joined", ["large.mkv", "long-pixels.mkv", "tall.mkv"], (task, name) =>
    join(task, "x", [film(name)]),
  ),
  of("clock", ["hours.mkv", "minutes.mkv", "instant.mkv"], (task, name) => join(task, "x", [film(name), film()])),
);

const ATTACKS = isFull ? 400 : 50;

test(`${ATTACKS} attacks by files, texts, fonts, cuts, sizes and clocks read no other file, change no film but as they say, and end`, async () => {
  for (const [index, { what, given, add }] of fc.sample(attack, { numRuns: ATTACKS, seed: 47 }).entries()) {
    const told = `${index}: ${what} ${JSON.stringify(given)?.slice(0, 200)}`;
    const before = readdirSync(folder).filter((name) => !/^(own|made)-/.test(name));
    const made = await (async () => make(folder, add, AbortSignal.timeout(60_000)))().catch((error: unknown) => error);
    expect(isOpened, told).toBe(false);
    expect(
      readdirSync(folder).filter((name) => !/^(own|made)-/.test(name)),
      told,
    ).toEqual(before);
    if (made instanceof Error) {
      expect(made, told).toBeInstanceOf(FilmError);
      expect((made as FilmError).code, `${told}: ${made.message}`).toMatch(/^(CLIP_|FILM_INPUT)/);
      continue;
    }
    const { file } = made as Awaited<ReturnType<typeof make>>;
    const { video, seconds } = await probe(file());
    expect(Math.max(video!.width, video!.height), told).toBeLessThanOrEqual(8192);
    if (/caption|title|font|name|line/.test(what)) {
      expect([video!.width, video!.height], told).toEqual([64, 48]);
      expect(Math.abs(seconds - 1), told).toBeLessThan(0.1);
    }
  }
}, 600_000);
