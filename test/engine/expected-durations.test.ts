import { describe, expect, test } from "vitest";
import { ExpectedDurations } from "../../src/engine/price/expected-durations.ts";
import { readFamilies } from "../../src/families/index.ts";
import type { Took } from "../../src/journal/store.ts";
import type { JobStep, Json, PlanStep } from "../../src/plan/plan.ts";
import { workOf } from "../../src/plan/work.ts";
import { job } from "../run/support/plans.ts";

const film = (input: Json, model = "reel-1"): JobStep => ({ ...job("film", input), model, yields: "video" });
const speech = (text: Json): JobStep => ({ ...job("line"), input: { text }, model: "voice-1", yields: "audio" });
const families = readFamilies([{ name: "reel", models: ["reel"], typical_seconds: 40 }]);
const took = (step: JobStep, ms: number): Took => ({ ms, ...workOf(step) }) as Took;

/** What is known where the journal holds these durations of each model, newest first. */
async function knowing(past: Readonly<Record<string, readonly Took[]>>, steps: readonly PlanStep[]) {
  const results = async (query: object, limit = 20) => {
    const model = (query as { readonly model: string }).model;
    const row = { runId: "r", account: "a", step: "s", fingerprint: "f", at: 1, model };
    return (past[model] ?? []).slice(0, limit).map((one) => ({ ...row, took: one }));
  };
  const durations = new ExpectedDurations({ store: { results }, account: "a", families, now: () => 0 });
  await durations.load(steps);
  return durations;
}

describe("what a request asks for", () => {
  test.each([
    ["seconds of film", film({ duration_ms: 5000 }), 5],
    ["times outputs", film({ duration_ms: 5000, num_outputs: 3 }), 15],
    ["times pixels", film({ duration: "4s", resolution: "4K" }), 4 * 16 * 0.5184],
    ["in either spelling", film({ width: 1024, height: 1000 }), 1.024],
    ["or of the shots together", film({ multi_prompt: [{ prompt: "a", duration_ms: 2000 }, { prompt: "b" }] }), 7],
    ["but not beside a length", film({ duration_ms: 9000, multi_prompt: [{ duration_ms: 2000 }] }), 9],
    ["characters where they are spoken", speech("a hundred and one"), 17],
    ["not the words of a prompt", film({ prompt: "a very long prompt" }), 1],
    [
      "nothing while an earlier step decides it",
      film({ duration_ms: { $ref: { step: "a", as: "value", output: 0 } } }),
      null,
    ],
    [
      "nor while it writes the words",
      speech({ $text: ["Hello ", { $ref: { step: "a", as: "value", output: 0 } }] }),
      null,
    ],
  ])("is %s", (_what, step, amount) => {
    expect(workOf(step).amount).toBe(amount);
  });

  test("with its choices as text, in any order, without words, seeds and media", () => {
    const choices = { quality: "pro", aspect_ratio: "16:9", generate_audio: true };
    const media = { source: "asset", asset_id: "a1" };
    const text = "aspect_ratio=16:9 generate_audio=true quality=pro start_image";
    expect(workOf(film({ ...choices, start_image: media, seed: 5 })).settings).toBe(text);
    const reference = { $ref: { step: "a", as: "asset", output: 0 } };
    expect(workOf(film({ start_image: reference, ...choices, negative_prompt: "none" })).settings).toBe(text);
  });
});

describe("a duration is expected", () => {
  const five = film({ duration_ms: 5000, quality: "pro" });
  const ten = film({ duration_ms: 10_000, quality: "pro" });

  test("as the median of like requests, whatever others took", async () => {
    const past = [10, 14, 12].map((s) => took(five, s * 1000)).concat([50, 51, 52].map((s) => took(ten, s * 1000)));
    const durations = await knowing({ "reel-1": past }, [five]);
    expect(durations.expectedMs(five)).toBe(12_000);
    expect(durations.expectedMs(ten)).toBe(51_000);
  });

  test("by the amount of work, else, on a line that odd durations do not turn", async () => {
    const lengths = [2, 3, 4, 6, 8, 12];
    const past = lengths.map((s) => took(film({ duration_ms: s * 1000 }), 4000 + s * 3000));
    const durations = await knowing({ "reel-1": [...past, took(film({ duration_ms: 2000 }), 900_000)] }, [five]);
    expect(durations.expectedMs(film({ duration_ms: 10_000 }))).toBe(34_000);
    expect(durations.expectedMs(ten)).toBe(34_000);
  });

  test("never shorter for more work, nor by more than in proportion", async () => {
    const past = [took(film({ duration_ms: 4000 }), 9000), took(film({ duration_ms: 8000 }), 5000)];
    const falling = await knowing({ "reel-1": past }, [five]);
    expect(falling.expectedMs(ten)).toBeGreaterThanOrEqual(falling.expectedMs(five));
    const steep = [took(film({ duration_ms: 4000 }), 1000), took(film({ duration_ms: 8000 }), 80_000)];
    const rising = await knowing({ "reel-1": steep }, [five]);
    expect(rising.expectedMs(film({ duration_ms: 16_000 }))).toBeLessThanOrEqual(160_000);
  });

  test("as the model's median, where the amount is not known yet or never differed", async () => {
    const past = [3000, 5000, 4000].map((ms) => took(speech("x".repeat(100)), ms));
    const durations = await knowing({ "voice-1": past }, [speech("")]);
    expect(durations.expectedMs(speech("x".repeat(400)))).toBe(4000);
    expect(durations.expectedMs(speech({ $ref: { step: "a", as: "value", output: 0 } }))).toBe(4000);
  });

  test("as the service says of jobs in flight, where none has finished", async () => {
    const durations = await knowing({}, [five]);
    durations.estimate(five, 25_000);
    expect([durations.expectedMs(five), durations.knownMs(five)]).toEqual([25_000, null]);
    durations.learn(five, took(five, 70_000));
    expect([durations.expectedMs(five), durations.knownMs(five)]).toEqual([70_000, 70_000]);
    durations.estimate(five, 1000);
    expect(durations.expectedMs(five)).toBe(70_000);
  });

  test("as its family takes, else its kind", async () => {
    const durations = await knowing({}, [five]);
    expect(durations.expectedMs(five)).toBe(40_000);
    expect(durations.expectedMs(film({}, "unheard-of"))).toBe(90_000);
    expect(durations.expectedMs(speech("x"))).toBe(8000);
    expect(durations.knownMs(five)).toBeNull();
  });

  test("longer for all of a model that has become slower, the more the more of them say so", async () => {
    const durations = await knowing({ "reel-1": Array.from({ length: 40 }, () => took(five, 10_000)) }, [five]);
    const expected = [1, 2, 3, 4, 5, 6, 7, 8].map(() => {
      durations.learn(five, took(five, 30_000));
      return durations.expectedMs(five);
    });
    expect(expected[0]).toBeGreaterThan(10_000);
    expect(expected[0]).toBeLessThan(30_000);
    expect(expected.at(-1)).toBeGreaterThan(25_000);
    expect(expected.at(-1)).toBeLessThan(31_000);
  });

  test("of functions whose names differ in numbers only by each other", async () => {
    const cut = (path: string): PlanStep => ({
      ...{ kind: "task", path, needs: [], fingerprint: "f1_t", input: {}, version: "1", files: [], yields: "value" },
      policy: { attempts: 1, maxCostMicros: null, keep: true },
    });
    const durations = await knowing({}, []);
    expect(durations.expectedMs(cut("shot-1/cut"))).toBe(2000);
    durations.learn(cut("shot-1/cut"), { ms: 60_000, settings: "", amount: 1 });
    expect(durations.expectedMs(cut("shot-12/cut"))).toBe(60_000);
    expect(durations.expectedMs(cut("shot-1/mix"))).toBe(2000);
  });
});

test("the journal is asked once for each model, for so many rows, and again after a while", async () => {
  const asked: unknown[] = [];
  let now = 0;
  const results = async (...query: readonly unknown[]) => {
    asked.push(query);
    return [];
  };
  const durations = new ExpectedDurations({ store: { results }, account: "a", families, now: () => now });
  const steps = [film({}), film({ duration_ms: 4000 }), speech("x"), job("other")];
  await durations.load(steps);
  await durations.load(steps);
  expect(asked).toEqual(["reel-1", "voice-1", "m"].map((model) => [{ account: "a", model }, 60]));
  now = 61_000;
  await durations.load([film({})]);
  expect(asked).toHaveLength(4);
});

test("expectations change a few times, however many steps finish", async () => {
  const step = film({});
  const durations = await knowing({}, [step]);
  const before = durations.version;
  for (let n = 0; n < 1000; n++) {
    durations.learn(step, took(step, 1000 + n));
    durations.expectedMs(step);
  }
  expect(durations.version - before).toBeLessThan(1000 / 7);
});
