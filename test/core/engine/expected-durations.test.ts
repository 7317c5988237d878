import { expect, test } from "vitest";
import { ExpectedDurations } from "../../../src/core/engine/price/expected.ts";
import { readFamilies } from "../../../src/core/families/index.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import { job } from "../run/support/plans.ts";

const film = (model = "reel-1"): JobStep => ({ ...job("film"), model, yields: "video" });
const speech: JobStep = { ...job("line"), model: "voice-1", yields: "audio" };
const families = readFamilies([{ name: "reel", models: ["reel"], typical_seconds: 40 }]);

test("a duration is expected as the mean of what its model took, else as its family takes, else its kind", async () => {
  const row = { runId: "r", account: "a", step: "s", fingerprint: "f", at: 1, model: "voice-1" };
  const past = [{ ...row, tookMs: 3000 }, row, { ...row, tookMs: 5000 }];
  const results = async (query: object) => ("model" in query && query.model === "voice-1" ? past : []);
  const durations = new ExpectedDurations({ store: { results }, account: "a", families, now: () => 0 });
  expect(durations.knownMs(speech)).toBeNull();
  await durations.load([film(), film("unheard-of"), speech]);
  expect([durations.expectedMs(speech), durations.knownMs(speech)]).toEqual([4000, 4000]);
  expect([durations.expectedMs(film()), durations.knownMs(film())]).toEqual([40_000, null]);
  expect(durations.expectedMs(film("unheard-of"))).toBe(90_000);
});

test("the journal is asked once for each model that ran, for so many rows, and again after a while", async () => {
  const asked: unknown[] = [];
  let now = 0;
  const results = async (...query: readonly unknown[]) => {
    asked.push(query);
    return [{ runId: "r", account: "a", step: "s", fingerprint: "f", at: 1, model: "m", tookMs: 7 }];
  };
  const durations = new ExpectedDurations({ store: { results }, account: "a", families, now: () => now });
  const steps = [film(), film(), speech, job("other")];
  await durations.load(steps);
  await durations.load(steps);
  expect(asked).toEqual(["reel-1", "voice-1", "m"].map((model) => [{ account: "a", model }, 60]));
  now = 61_000;
  await durations.load([film()]);
  expect(asked).toHaveLength(4);
});
