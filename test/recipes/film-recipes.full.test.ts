import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import audiogram from "../../recipes/audiogram.ts";
import avatarLanguages from "../../recipes/avatar-languages.ts";
import productAd from "../../recipes/product-ad.ts";
import storyFilm from "../../recipes/story-film.ts";
import { openMediaStore } from "../../src/core/engine/media/folder-store.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { type JournalStore, openJournal, openShowrunner, type Showrunner } from "../../src/index.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { type Dashboard, startDashboard, writeReport } from "../../src/studio/dashboard/index.ts";
import { startBrowser } from "../demo/support/browser.ts";
import { ffmpeg } from "../film/support/ffmpeg.ts";
import { colorAt, gapsOf, loudnessOf } from "../film/support/measure.ts";
import { isFull } from "../support/sample.ts";
import { watchReturned } from "./support/watch-films.ts";

const folder = mkdtempSync(join(tmpdir(), "film-recipes-"));
/** Films are rendered and coded for real: that takes as long as the machine needs. */
const TIMEOUT_MS = 600_000;
let service: LocalService;
let journal: JournalStore;
let show: Showrunner;
let dashboard: Dashboard;
let browser: Browser;

beforeAll(async () => {
  service = await startLocalService({ dataDir: join(folder, "service"), balance: 25, speed: 100 });
  const { baseUrl, apiKey } = service;
  journal = await openJournal(join(folder, "journal.db"));
  const media = await openMediaStore(mediaDir);
  show = await openShowrunner({ baseUrl, apiKey, journal, mediaDir });
  dashboard = await startDashboard({ show, journal, media });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await dashboard?.close();
  await show.close();
  await journal.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const mediaDir = join(folder, "media");
const outDir = (id: string) => join(folder, "out", id);
const options = (id: string) => ({ id, budget: "5.00", outDir: outDir(id) });

/** Seconds at which captions of a file begin and end. */
function times(srt: string): readonly number[] {
  const stamps = readFileSync(srt, "utf8").matchAll(/(\d\d):(\d\d):(\d\d),(\d{3})/g);
  return [...stamps].map(([, h, m, s, ms]) => Number(h) * 3600 + Number(m) * 60 + Number(s) + Number(ms) / 1000);
}

/** How many pixels of the lower half of a stretch are of the captions' yellow, as a part of 1. */
async function yellow(path: string, from: number, seconds: number): Promise<number> {
  const pixels = join(folder, "pixels.raw");
  const args = ["-vf", "fps=4,crop=iw:ih/2:0:ih/2,scale=320:-2,format=rgb24", "-an", "-f", "rawvideo", pixels];
  await ffmpeg("-v", "error", "-ss", String(from), "-t", String(seconds), "-i", path, ...args);
  const bytes = readFileSync(pixels);
  let found = 0;
  for (let at = 0; at < bytes.length; at += 3)
    if (bytes[at]! > 200 && bytes[at + 1]! > 160 && bytes[at + 2]! < 90) found += 1;
  return found / (bytes.length / 3);
}

/**
 * Each film as a player shows it: whole, moving, with sound, and of the pictures that are in it. Players of the dashboard and of
 * the report show it in turn, in a full check both.
 */
async function watched(id: string, films: Readonly<Record<string, string>>, by: "dashboard" | "report"): Promise<void> {
  const file = join(folder, `${id}.html`);
  await writeReport(show, id, { file, inlineBytes: 100_000_000, mediaDir, writtenAt: Date.now(), version: "1.2.3" });
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(dashboard.url);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const addresses = { dashboard: `${dashboard.origin}/runs/${id}`, report: pathToFileURL(file).href };
    for (const where of isFull ? (["dashboard", "report"] as const) : [by]) {
      await page.goto(addresses[where]);
      const seen = await watchReturned(page);
      expect(Object.keys(seen).sort(), where).toEqual(Object.keys(films).sort());
      for (const [name, path] of Object.entries(films)) {
        const { seconds, video } = await probe(path);
        const said = `${name} in the ${where}`;
        const { middle, ...one } = seen[name]!;
        expect(one, said).toMatchObject({ width: video!.width, height: video!.height });
        expect(one.seconds, said).toBeCloseTo(seconds, 1);
        expect(one.reached, said).toBeLessThan(seconds);
        expect(one.soundBytes, said).toBeGreaterThan(0);
        const drawn = await colorAt(path, one.seconds / 2);
        expect(Math.max(...drawn), said).toBeGreaterThan(40);
        for (const [channel, level] of middle.entries())
          expect(Math.abs(level - drawn[channel]!), said).toBeLessThan(16);
      }
    }
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

test(
  "product-ad: three formats, named by their template, at -14 LUFS, with captions while the voice speaks and a card",
  async () => {
    const { status, outputs } = await (await show.run(productAd, {}, options("ad"))).result();
    expect(status).toBe("succeeded");
    const sizes = { "16x9": [1280, 720], "9x16": [720, 1280], "1x1": [720, 720] } as const;
    for (const [format, [width, height]] of Object.entries(sizes)) {
      const { path } = outputs[`ridge-kettle-2-${format}`]!;
      expect(path).toBe(join(outDir("ad"), `ridge-kettle-2-${format}.mp4`));
      const film = await probe(path);
      expect(film.video, format).toMatchObject({ width, height });
      // Two shots of three seconds and a card of two, less two blends.
      expect(film.seconds, format).toBeCloseTo(7.4, 1);
      const { integrated, truePeak } = await loudnessOf(path);
      expect(Math.abs(integrated + 14), format).toBeLessThan(1.5);
      expect(truePeak, format).toBeLessThan(-0.9);
      expect((await gapsOf(path)).black.filter((gap) => !gap.startsWith("0"))).toEqual([]);
      expect(await yellow(path, 0.8, 1), format).toBeGreaterThan(0.0005);
      expect(await yellow(path, 4.5, 1), format).toBeLessThan(0.0002);
    }
    await watched(
      "ad",
      Object.fromEntries(Object.entries(outputs).map(([name, film]) => [name, film!.path])),
      "report",
    );
  },
  TIMEOUT_MS,
);

test(
  "avatar-languages: each film has subtitles over the whole of its speech, at -14 LUFS, and hands them over",
  async () => {
    const lines = { en: "Welcome.", de: "Willkommen. Bis bald.", fr: "Bienvenue à tous.", es: "Hola, bienvenidos." };
    const input = isFull ? {} : { lines };
    const { status, outputs } = await (await show.run(avatarLanguages, input, options("guide"))).result();
    expect(status).toBe("succeeded");
    const names = ["de", "en", "es", "fr"].map((language) => `guide-${language}`);
    expect(Object.keys(outputs.films!).sort()).toEqual(
      names.flatMap((name) => [name, `${name}.srt`, `${name}.vtt`]).sort(),
    );
    for (const name of names) {
      const { path } = outputs.films![name]!;
      const film = await probe(path!);
      expect(film.video, name).toMatchObject({ width: 720, height: 1280 });
      const { integrated, truePeak } = await loudnessOf(path!);
      expect(Math.abs(integrated + 14), name).toBeLessThan(1);
      expect(truePeak, name).toBeLessThan(-0.9);
      const all = times(outputs.films![`${name}.srt`]!.path!);
      expect(all, name).toEqual(all.toSorted((a, b) => a - b));
      expect(all[0], name).toBeLessThan(0.5);
      expect(film.seconds - all.at(-1)!, name).toBeLessThan(0.8);
    }
    const words = (language: string) => readFileSync(join(outDir("guide"), `films.guide-${language}.srt`), "utf8");
    expect(words("de")).toMatch(/Willkommen/);
    expect(words("es")).toMatch(/bienvenidos\./i);
    expect(words("fr")).toMatch(isFull ? /commence\s+à\s+midi\./ : /à\s+tous\./);
    await watched(
      "guide",
      Object.fromEntries(names.map((name) => [`films.${name}`, outputs.films![name]!.path!])),
      "dashboard",
    );
  },
  TIMEOUT_MS,
);

test(
  "story-film: as many scenes as the story has, blended, at -14 LUFS to the end, with subtitles and a poster",
  async () => {
    const { status, outputs, report } = await (await show.run(storyFilm, {}, options("story"))).result();
    expect(status).toBe("succeeded");
    const clips = report.steps.filter(({ path }) => path.startsWith("scenes/clip-")).length;
    const { path } = outputs.film!;
    const film = await probe(path);
    // A blend is of whole frames.
    const { fps } = film.video!;
    const cut = 3 * clips - (Math.round(0.4 * fps) / fps) * (clips - 1);
    expect(film.seconds).toBeGreaterThan(cut - 0.05);
    expect(film.audio!.seconds).toBeCloseTo(film.seconds, 1);
    const { integrated, truePeak } = await loudnessOf(path);
    expect(Math.abs(integrated + 14)).toBeLessThan(1);
    expect(truePeak).toBeLessThan(-0.9);
    const written = readFileSync(outputs.srt!.path, "utf8");
    const track = await ffmpeg("-v", "error", "-i", path, "-map", "0:s:0", "-f", "srt", "-");
    expect(track.replaceAll("\r", "").trim()).toBe(written.trim());
    expect(written.replaceAll(/\s+/g, " ")).toMatch(/A lighthouse keeper .* comes home with a friend\./);
    const all = times(outputs.srt!.path);
    const spoken = report.steps.find(({ path }) => path === "narrator")!.outputs[0]!.duration_ms! / 1000;
    expect(all[0]).toBeLessThan(0.5);
    expect(Math.abs(all.at(-1)! - spoken)).toBeLessThan(0.5);
    await watched("story", { film: path }, "dashboard");
    expect((await probe(outputs.poster!.path)).video).toMatchObject({ isStill: true, width: film.video!.width });
  },
  TIMEOUT_MS,
);

test(
  "audiogram: as long as the recording, at -16 LUFS, with its words as captions, in files too",
  async () => {
    const { status, outputs } = await (await show.run(audiogram, {}, options("wave"))).result();
    expect(status).toBe("succeeded");
    const film = await probe(outputs.film!.path);
    expect(film.seconds).toBeCloseTo(4.32, 1);
    expect(film.video).toMatchObject({ width: 720, height: 720, fps: 25 });
    const { integrated, truePeak } = await loudnessOf(outputs.film!.path);
    expect(Math.abs(integrated + 16)).toBeLessThan(1);
    expect(truePeak).toBeLessThan(-0.9);
    const all = times(outputs.srt!.path);
    expect(all[0]).toBeCloseTo(0.15, 1);
    expect(all.at(-1)).toBeCloseTo(4.18, 1);
    expect(readFileSync(outputs.vtt!.path, "utf8")).toMatch(/^WEBVTT\n/);
    expect(
      readdirSync(outDir("wave"))
        .filter((name) => !name.endsWith(".json"))
        .sort(),
    ).toEqual(["film.mp4", "srt.srt", "vtt.vtt"]);
    await watched("wave", { film: outputs.film!.path }, "report");
  },
  TIMEOUT_MS,
);
