import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { plainWav } from "../../src/core/kit/placeholder-media.ts";
import { startStudio } from "../../src/testing/index.ts";
import { everyKind, localCalls, STORY } from "../core/engine/fixtures/every-kind.ts";
import { isFull } from "../support/sample.ts";

/** A full check dies at three times as many. */
const every = isFull ? 9 : 27;

test("kills at every boundary of a pipeline with every kind of step come to the same, and each job is paid once", async () => {
  await using studio = await startStudio({ chat: () => STORY });
  localCalls.counts.clear();
  const sample = join(studio.folder, "sample.wav");
  await writeFile(sample, plainWav(12_000));
  const options = {
    budget: "20",
    decide: ({ isChoice }: { readonly isChoice: boolean }) => (isChoice ? { pick: 1 } : "approve"),
  } as const;
  const report = await studio.assertSurvivesKills(everyKind, { sample, scenes: 2 }, { ...options, every });
  expect(report).toMatchObject({ status: "succeeded", jobs: 11 });
  expect(report.boundaries).toBeGreaterThan(180 / every);
}, 300_000);
