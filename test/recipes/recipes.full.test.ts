import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import draftThenFinal from "../../recipes/draft-then-final.ts";
import localizedAd from "../../recipes/localized-ad.ts";
import musicVideo from "../../recipes/music-video.ts";
import narration from "../../recipes/narration.ts";
import podcastClip from "../../recipes/podcast-clip.ts";
import productSpin from "../../recipes/product-spin.ts";
import secondChoice from "../../recipes/second-choice.ts";
import shotList from "../../recipes/shot-list.ts";
import storyboard from "../../recipes/storyboard.ts";
import takes from "../../recipes/takes.ts";
import { openShowrunner, type Showrunner } from "../../src/index.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { cli } from "../cli/support/cli.ts";
import { serveMedia, startBrowser } from "../demo/support/browser.ts";
import { openPlayer } from "../demo/support/play.ts";
import { trackFacts } from "./support/film-facts.ts";

const recipes = join(import.meta.dirname, "..", "..", "recipes");
let folder: string;
let service: LocalService;
let show: Showrunner;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "recipes-"));
  service = await startLocalService({ dataDir: join(folder, "service"), balance: 25, speed: 100 });
  const { baseUrl, apiKey } = service;
  show = await openShowrunner({ baseUrl, apiKey, journal: join(folder, "journal.db") });
});

afterAll(async () => {
  await show.close();
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

describe("every recipe runs as it is, with its own defaults", () => {
  test("storyboard: a chat model invents scenes, each is drawn and filmed, and the clips are one film", async () => {
    const run = await show.run(
      storyboard,
      {},
      { id: "storyboard", budget: "3.00", outDir: join(folder, "storyboard") },
    );
    const { status, outputs, report } = await run.result();
    expect(status).toBe("succeeded");
    const clips = report.steps.filter(({ path }) => path.startsWith("scenes/clip-"));
    expect(clips.length).toBeGreaterThanOrEqual(2);
    const film = await trackFacts(outputs.film!.path);
    expect(film.seconds).toBeCloseTo(3 * clips.length, 1);
    expect(film).toMatchObject({ width: 1280, height: 720, hasSound: true });
    expect(outputs.film).toMatchObject({ width: 1280, height: 720, contentType: "video/mp4", assetId: null });
  });

  test("localized-ad: one film a language and format, each with the line of its language", async () => {
    const run = await show.run(localizedAd, {}, { id: "ad", budget: "2.00", outDir: join(folder, "ad") });
    const { status, outputs } = await run.result();
    expect(status).toBe("succeeded");
    const { films } = outputs;
    expect(Object.keys(films).sort()).toEqual(["16x9-en-GB", "16x9-en-US", "9x16-en-GB", "9x16-en-US"]);
    const wide = await trackFacts(films["16x9-en-GB"]!.path!);
    expect([wide.width, wide.height, wide.hasSound]).toEqual([1280, 720, true]);
    const tall = await trackFacts(films["9x16-en-US"]!.path!);
    expect([tall.width, tall.height, tall.hasSound]).toEqual([720, 1280, true]);
    const jobs = service.stats().jobs_by_model;
    expect(jobs["speech-1"]).toBe(2);
  });

  test("second-choice: the first option is made, and the second is not", async () => {
    const run = await show.run(secondChoice, {}, { id: "second", budget: "0.30", outDir: join(folder, "second") });
    const { status, outputs, report } = await run.result();
    expect(status).toBe("succeeded");
    expect(report.steps.map((step) => step.status)).toEqual(["succeeded", "skipped", "skipped", "succeeded"]);
    expect((await trackFacts(outputs.video!.path)).seconds).toBeCloseTo(5, 1);
  });

  test("takes: waits for a person, and films the one that was picked", async () => {
    const run = await show.run(takes, {}, { id: "takes", budget: "1.00", outDir: join(folder, "takes") });
    const paused = await run.result();
    expect(paused).toMatchObject({ status: "paused", pause: { reason: "approval" } });
    await show.approve("takes", "look/pick", { pick: 2, note: "the calm one" });
    const { status, report } = await (await show.resume("takes")).result();
    expect(status).toBe("succeeded");
    expect(report.steps.flatMap(({ path, outputs }) => outputs.map(({ file }) => [path, file]))).toEqual([
      ["look/1", null],
      ["look/2", null],
      ["look/3", "look.png"],
      ["video", "video.mp4"],
    ]);
    expect(
      new Set(report.steps.filter(({ path }) => /^look\/\d$/.test(path)).map((s) => s.outputs[0]!.sha256)).size,
    ).toBe(3);
  });

  test("draft-then-final: the draft is cheaper and smaller, and the final one is what the pipeline says", async () => {
    const draft = await show.quote(draftThenFinal, {}, { profile: "draft" });
    const final = await show.quote(draftThenFinal, {});
    expect(draft.totalMicros.max!).toBeLessThan(final.totalMicros.min / 2);
    const run = await show.run(draftThenFinal, {}, { id: "draft", profile: "draft", outDir: join(folder, "draft") });
    const { status, outputs } = await run.result();
    expect(status).toBe("succeeded");
    expect(await trackFacts(outputs.video!.path)).toMatchObject({ width: 1280, height: 720, hasSound: false });
    expect(final.plan!.steps.find(({ path }) => path === "video")).toMatchObject({ input: { resolution: "1080p" } });
  });

  test("narration: the voice is heard over the pictures, and ends before they do", async () => {
    const run = await show.run(narration, {}, { id: "narration", outDir: join(folder, "narration") });
    const { status, outputs } = await run.result();
    expect(status).toBe("succeeded");
    const path = outputs.narrated!.path;
    expect(await trackFacts(path)).toMatchObject({ hasSound: true, seconds: expect.closeTo(5, 1) });
    await using media = await serveMedia([path]);
    const browser = await startBrowser();
    try {
      const played = await (await openPlayer(browser, media.origin)).play(`${media.origin}/0`);
      expect(played.loudness).toBeGreaterThan(0.005);
      expect(played.moves).toBe(true);
    } finally {
      await browser.close();
    }
  });

  test("shot-list: one clip a row of the spreadsheet, in its order, joined to one film", async () => {
    const run = await show.run(shotList, {}, { id: "shots", budget: "1.00", outDir: join(folder, "shots") });
    const { status, outputs, report } = await run.result();
    expect(status).toBe("succeeded");
    expect(report.steps.map(({ path }) => path)).toEqual(["clip-harbour", "clip-boat", "clip-lighthouse", "film"]);
    expect(await trackFacts(outputs.film!.path)).toMatchObject({ seconds: expect.closeTo(11, 1), hasSound: false });
  });

  test("product-spin: four sides of one product, and a film that goes round and ends where it began", async () => {
    const run = await show.run(productSpin, {}, { id: "spin", budget: "0.70", outDir: join(folder, "spin") });
    const { status, outputs, cost } = await run.result();
    expect([status, cost.usd]).toEqual(["succeeded", "0.695"]);
    const facts = { seconds: expect.closeTo(12, 1), width: 720, height: 720, hasSound: false };
    expect(await trackFacts(outputs.spin!.path)).toMatchObject(facts);
  });

  test("podcast-clip: a host on a phone's screen says the recording, as long as it lasts", async () => {
    const run = await show.run(podcastClip, {}, { id: "podcast", budget: "0.50", outDir: join(folder, "podcast") });
    const { status, outputs, cost } = await run.result();
    expect([status, cost.usd]).toEqual(["succeeded", "0.445"]);
    const facts = { seconds: expect.closeTo(4.3, 0), width: 720, height: 1280, hasSound: true };
    expect(await trackFacts(outputs.clip!.path)).toMatchObject(facts);
    expect(outputs.cover).toMatchObject({ contentType: "image/png" });
  });

  test("music-video: a clip a shot with the same singer, and the song over all of them", async () => {
    const run = await show.run(musicVideo, {}, { id: "music", budget: "0.60", outDir: join(folder, "music") });
    const { status, outputs, cost } = await run.result();
    expect([status, cost.usd]).toEqual(["succeeded", "0.545"]);
    const path = outputs.video!.path;
    const facts = { seconds: expect.closeTo(9, 1), width: 1280, height: 720, hasSound: true };
    expect(await trackFacts(path)).toMatchObject(facts);
    await using media = await serveMedia([path]);
    const browser = await startBrowser();
    try {
      const played = await (await openPlayer(browser, media.origin)).play(`${media.origin}/0`);
      expect(played.loudness).toBeGreaterThan(0.05);
      expect(played.moves).toBe(true);
    } finally {
      await browser.close();
    }
  });

  test("product-cards: a picture and a run a row of the CSV file, for the price that the table says", async () => {
    const { baseUrl, apiKey } = service;
    const [file, rows] = [join(recipes, "product-cards.ts"), join(recipes, "assets", "products.csv")];
    const env = { SHOWRUNNER_BASE_URL: baseUrl, SHOWRUNNER_API_KEY: apiKey };
    const cwd = join(folder, "cards");
    mkdirSync(cwd);
    const { code, stdout, stderr } = await cli(["run", file, "--each", rows, "--budget", "1"], { cwd, env });
    expect(code, stderr).toBe(0);
    const lines = stdout.trim().split("\n");
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      expect(line).toMatch(/^products-[A-Z][a-z]+-[a-z]+-[0-9a-f]{12}\tsucceeded\t\$0\.02$/);
      expect(existsSync(join(cwd, "out", line.split("\t")[0]!, "card.png"))).toBe(true);
    }
  });

  test("a shot list with a wrong row is refused with the row and the column", async () => {
    const quote = await show.quote(shotList, { shots: join(recipes, "assets", "no-such-file.csv") });
    expect(quote.ok).toBe(false);
    expect(quote.problems[0]).toMatchObject({ step: null });
    expect(quote.problems[0]!.message).toContain("no-such-file.csv");
  });
});

test("every recipe is in the table of recipes/README.md, and has a test or is in the demo", () => {
  const files = readdirSync(recipes).filter((name) => name.endsWith(".ts") && !["models.ts", "cast.ts"].includes(name));
  const readme = readFileSync(join(recipes, "README.md"), "utf8");
  const tests = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
  const tested = [...tests.map((name) => join(import.meta.dirname, name)), join(recipes, "../scripts/demo.ts")]
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  for (const file of files) {
    expect(readme, file).toContain(`(${file})`);
    expect(tested, file).toContain(file.replace(/\.ts$/, ""));
  }
  expect(existsSync(join(recipes, "assets", "shots.csv"))).toBe(true);
});
