import { pipeline } from "showrunner";
import { startStudio } from "showrunner/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ad } from "./fixtures/ad.ts";

const product = { product: "a kettle" };

test("a kill at each boundary of a small pipeline; one can be repeated by its number", async () => {
  await using studio = await startStudio();
  const report = await studio.assertSurvivesKills(ad, product, { budget: "1" });
  expect(report).toMatchObject({ status: "succeeded", jobs: 2, files: 2, repeatedChats: 0 });
  expect(report.boundaries).toBeGreaterThan(30);
  expect((await studio.assertSurvivesKills(ad, product, { at: 40 })).boundaries).toBe(1);
  await expect(studio.assertSurvivesKills(ad, product, { at: 10_000 })).rejects.toThrow(
    /Boundary 10000 does not exist: the run has only \d+ boundaries/,
  );
});

test("a run whose rewriting lost its answer is made whole by the rerun that a person would ask for", async () => {
  const rewrite = { model: "chat-1", maxCost: "0.02" };
  const duel = pipeline("duel", {
    input: z.object({}),
    build: ({ job }) => ({
      still: job("still", "image-1", { prompt: "a duel" }, { onModerated: "rewrite", rewrite }),
    }),
  });
  const moderation = { code: "MODERATION_FAILED", retryable: false } as const;
  await using studio = await startStudio({
    faults: [{ kind: "fail_job", prompt: "^a duel$", model: "image-1", ...moderation }],
  });
  const report = await studio.assertSurvivesKills(duel, {});
  expect(report).toMatchObject({ status: "succeeded", jobs: 2, files: 1 });
  expect(report.repeatedChats).toBeGreaterThan(0);
});

test("a pipeline that never comes to the same is told apart from one that a kill changed", async () => {
  let calls = 0;
  const counts = pipeline("counts", {
    input: z.object({}),
    build: ({ task }) => ({ count: task("count", {}, () => ++calls).value }),
  });
  await using studio = await startStudio();
  await expect(studio.assertSurvivesKills(counts, {})).rejects.toThrow(
    /The pipeline's results differ from run to run, even when no process is killed:\n- steps: without count succeeded 1\n- steps: with count succeeded 2/,
  );
});
