import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "showrunner";
import { startStudio } from "showrunner/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { assertPaidOnce } from "../../src/testing/assert-run.ts";
import { overriding } from "../support/overriding.ts";
import { ad } from "./fixtures/ad.ts";

const product = { product: "a kettle" };

describe("a studio", () => {
  test("runs a pipeline with a person's decisions, and says that everything was paid once and within the budget", async () => {
    await using studio = await startStudio();
    const waiting: string[] = [];
    const run = await studio.run(ad, product, {
      budget: "1",
      decide: ({ path, message, isChoice }) => {
        waiting.push(`${path}: ${message} ${isChoice}`);
        return "approve";
      },
    });
    expect(run.status).toBe("succeeded");
    expect(waiting).toEqual(["agreed: Film it? false"]);
    expect(existsSync(join(studio.folder, "out", "ad-1", "film.mp4"))).toBe(true);
    await studio.assertPaidOnce();
    await studio.assertWithinBudget(run);
    expect(studio.service.stats().jobs_created).toBe(2);
  });

  test("stays paused without somebody who decides, and a no ends it", async () => {
    await using studio = await startStudio();
    expect((await studio.run(ad, product, { id: "open" })).pause?.reason).toBe("approval");
    const refused = await studio.run(ad, product, { id: "refused", decide: () => "reject" });
    expect(refused.status).toBe("failed");
    expect(studio.service.stats().jobs_by_model).toEqual({ "image-1": 2 });
  });

  test("leaves no folder behind", async () => {
    const studio = await startStudio();
    const { folder } = studio;
    expect(existsSync(folder)).toBe(true);
    await studio[Symbol.asyncDispose]();
    expect(existsSync(folder)).toBe(false);
  });

  test("an output of an equal request is equal, and that of another is not", async () => {
    await using studio = await startStudio();
    const run = (input: typeof product) => studio.run(ad, input, { decide: () => "approve" });
    const hash = async (input: typeof product) =>
      (await run(input)).report.steps.map(({ outputs }) => outputs[0]?.sha256);
    const first = await hash(product);
    expect(await hash(product)).toEqual(first);
    const other = await hash({ product: "a cup" });
    expect(other.filter((one, at) => one !== undefined && one === first[at])).toEqual([]);
  });

  test("scripts what chat models say, and charges for it", async () => {
    const tale = pipeline("tale", {
      input: z.object({}),
      build({ chat }) {
        const told = chat(
          "told",
          "chat-1",
          { prompt: "a title" },
          { schema: z.object({ title: z.string() }), maxCost: "0.05" },
        );
        return { title: told.at("title") };
      },
    });
    await using studio = await startStudio({ chat: () => '{ "title": "The harbour" }' });
    const run = await studio.run(tale, {});
    expect(run.outputs).toEqual({ title: "The harbour" });
    expect(Number(run.cost.usd)).toBeGreaterThan(0);
    await studio.assertPaidOnce();
  });

  test("waits and outages take no time worth mentioning, and nothing is paid twice through them", async () => {
    const down = { kind: "error", code: "UNAVAILABLE", retry_after: 60, count: 3 } as const;
    await using studio = await startStudio({
      faults: [down, { kind: "drop", when: "after", route: "POST /models/{model}", count: 1 }],
    });
    const before = studio.service.clock.now();
    const run = await studio.run(ad, product, { decide: () => "approve" });
    expect(run.status).toBe("succeeded");
    expect(studio.service.clock.now() - before).toBeGreaterThanOrEqual(60_000);
    expect(studio.service.stats().replayed_submits).toBeGreaterThanOrEqual(1);
    await studio.assertPaidOnce();
  });

  test("time held by hand moves only when it is told to", async () => {
    await using studio = await startStudio({ time: "manual", speed: 1 });
    const begun = studio.service.clock.now();
    const run = studio.run(ad, product);
    let isOver = false;
    void run.then(() => {
      isOver = true;
    });
    await vi.waitFor(() => expect(studio.service.stats().jobs_created).toBe(1), 20_000);
    expect([isOver, studio.service.clock.now()]).toEqual([false, begun]);
    await studio.advance(60_000);
    expect((await run).pause?.reason).toBe("approval");
    expect(studio.service.clock.now()).toBe(begun + 60_000);
    // Two days on, the picture is gone on the service; the copy goes back for nothing.
    await studio.advance(49 * 3_600_000);
    await studio.showrunner.approve("ad-1", "agreed");
    const resumed = studio.showrunner.resume("ad-1", { pipeline: ad }).then((handle) => handle.result());
    await vi.waitFor(() => expect(studio.service.stats().jobs_created).toBe(2), 20_000);
    await studio.advance(60_000);
    expect((await resumed).status).toBe("succeeded");
    expect(studio.service.stats().jobs_by_model).toEqual({ "image-1": 1, "video-1": 1 });
    await studio.assertPaidOnce();
  });

  test("a wrong option is refused by name", async () => {
    await expect(startStudio({ faults: [{ kind: "drop", when: "later" as never }] })).rejects.toThrow(/faults .*when/);
  });
});

describe("the assertions fail", () => {
  test("where the service forgets keys: two jobs for one submit", async () => {
    const forgets = { kind: "forget_key" } as const;
    await using studio = await startStudio({ faults: [forgets] });
    studio.service.faults([forgets, { kind: "drop", when: "after", route: "POST /models/{model}", count: 1 }]);
    await studio.run(ad, product, { decide: () => "approve" });
    await expect(studio.assertPaidOnce()).rejects.toThrow(
      /attempt 1 of step picture of run ad-1 created 2 jobs on the service[\s\S]*created 2 jobs for image-1, but the runs recorded 1[\s\S]*the wallet paid 0\.24/,
    );
    await expect(studio.assertSurvivesKills(ad, product)).rejects.toThrow(
      /The run that was killed at boundary \d+ \(POST \/models\/image-1: answered\) ended differently from the uninterrupted run:\n- jobs: 2 → 3\n/,
    );
  });

  test("where a failed attempt was charged and another one followed", async () => {
    await using studio = await startStudio({ faults: [{ kind: "fail_job", model: "image-1", count: 1 }] });
    const { report } = await studio.run(ad, product, { decide: () => "approve" });
    expect(report.steps[0]!.attempts.length).toBe(2);
    await studio.assertPaidOnce();
    // No local service charges for a failure: the journal is told that this one did.
    const charged = async (runId: string) =>
      (await studio.journal.read(runId)).map((stored) =>
        stored.event.type === "job.settled" && stored.event.costMicros === 0
          ? { ...stored, event: { ...stored.event, costMicros: 20_000 } }
          : stored,
      );
    const journal = overriding(studio.journal, { read: charged });
    await expect(assertPaidOnce(studio.service, journal)).rejects.toThrow(
      /step picture of run ad-1 was charged 2 times: attempt 1, job_[^,]+, 0\.02; attempt 2[\s\S]*the wallet paid 0\.22, but the runs recorded 0\.24/,
    );
  });

  test("where a charge is above its quote", async () => {
    await using studio = await startStudio({ faults: [{ kind: "charge", factor: 30 }] });
    const run = await studio.run(ad, product, { budget: "0.30", decide: () => "approve" });
    await expect(studio.assertWithinBudget(run)).rejects.toThrow(
      /Run ad-1 exceeded its budget of 0\.30 at event \d+ \(job\.settled\): 0\.60 spent/,
    );
    await studio.assertWithinBudget("ad-1", "1000");
    await expect(studio.assertWithinBudget("ad-1", "much")).rejects.toThrow(/budget: "much"/);
  });

  test("where a pipeline without a budget is held against none", async () => {
    await using studio = await startStudio();
    await studio.run(ad, product);
    await expect(studio.assertWithinBudget("ad-1")).rejects.toThrow(/has no budget: run it with/);
  });
});

describe("the same quote as before", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "quotes-"));
    file = join(folder, "ad.json");
    vi.stubEnv("CI", "");
    vi.stubEnv("SHOWRUNNER_UPDATE_QUOTES", "");
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });

  test("is written once, and then compared", async () => {
    await using studio = await startStudio();
    await studio.assertSameQuote(ad, product, file);
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({
      pipeline: "ad",
      total: { min: "0.22", max: "0.22" },
    });
    await studio.assertSameQuote(ad, product, file);
  });

  test("another one is told step by step, and taken over when asked to", async () => {
    await using studio = await startStudio();
    await studio.assertSameQuote(ad, product, file);
    const dearer = { ...JSON.parse(await readFile(file, "utf8")), total: { min: "0.42", max: "0.42" } };
    dearer.steps.film.price = "0.40, provisional";
    delete dearer.steps.picture;
    dearer.steps.music = { model: "music-1", price: "0.10, quoted" };
    await writeFile(file, JSON.stringify(dearer));
    await expect(studio.assertSameQuote(ad, product, file)).rejects.toThrow(
      /- film: video-1, 0\.40, provisional → video-1, 0\.20, provisional\n- music: gone, was music-1, 0\.10, quoted\n- picture: new, image-1, 0\.02, quoted\n- total: 0\.42 → 0\.22\n/,
    );
    vi.stubEnv("SHOWRUNNER_UPDATE_QUOTES", "1");
    await studio.assertSameQuote(ad, product, file);
    vi.stubEnv("SHOWRUNNER_UPDATE_QUOTES", "");
    await studio.assertSameQuote(ad, product, file);
  });

  test("in CI a missing file fails, and is not written", async () => {
    await using studio = await startStudio();
    vi.stubEnv("CI", "true");
    await expect(studio.assertSameQuote(ad, product, file)).rejects.toThrow(
      /ad\.json does not exist; run the test once/,
    );
    expect(existsSync(file)).toBe(false);
  });

  test("a plan with problems has none", async () => {
    await using studio = await startStudio();
    const wrong = pipeline("wrong", {
      input: z.object({}),
      build: ({ job }) => ({ x: job("x", "image-1", { promt: "x" }) }),
    });
    await expect(studio.assertSameQuote(wrong, {}, file)).rejects.toThrow(/The pipeline cannot be planned:\n- x: /);
  });
});
