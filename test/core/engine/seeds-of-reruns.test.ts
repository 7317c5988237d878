import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Pipeline } from "../../../src/index.ts";
import { apiError, during, isFull, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const looks: Pipeline = pipelineOf("looks", ({ job, chat, takes, expand }) => {
  const look = takes("look", models.image, { prompt: "a look" }, { count: 3, choose: "first" });
  const best = takes("best", models.image, { prompt: "a face", seed: 5 }, { count: 2, choose: "person" });
  const poster = job("poster", models.image, { prompt: "a poster", seed: 7 });
  const framed = job("framed", models.image, { prompt: "in a frame", images: [poster], seed: 7 });
  const plain = job("plain", models.image, { prompt: "as it comes" });
  const words = chat("words", "chat-1", { prompt: "words" }, { schema: z.array(z.string()), maxCost: "0.01" });
  const each = expand(
    "each",
    words,
    (list, within) =>
      list.map((word) => within.takes(word, models.image, { prompt: word }, { count: 2, choose: "person" })),
    { maxSteps: 10 },
  );
  return { look, best, poster, framed, plain, each };
});

async function waiting() {
  const world = await openFakeShow({ says: () => '["one"]' });
  const { paidService } = world;
  const paused = await world.run(looks);
  expect(paused.status).toBe("paused");
  const bodies = () => [...paidService.jobs.values()].map(({ body }) => body);
  return {
    ...world,
    bodies,
    seedsOf: (prompt: string) =>
      bodies().flatMap((body) => {
        const { prompt: of, seed } = JSON.parse(body) as { prompt: string; seed?: number };
        return of === prompt ? [seed] : [];
      }),
  };
}

test("a take that the run came without is made by no rerun of it alone: that is refused, and one with the take before it is not", async () => {
  const { show, clock, resume, bodies } = await waiting();
  const before = bodies().length;
  const refusal = { code: "INVALID_OPTION", message: expect.stringContaining("look/2 would be skipped again") };
  await expect(during(clock, show.rerunQuote("x", ["look/2"]))).rejects.toMatchObject(refusal);
  await expect(resume({ rerun: ["look/2"] })).rejects.toMatchObject(refusal);
  expect(bodies()).toHaveLength(before);
  await resume({ rerun: ["look/*"] });
  expect(bodies()).toHaveLength(before + 1);
});

describe("a take that is made again", () => {
  test("asks with another seed than any before, which quote, plan, journal and report say", async () => {
    const { show, clock, journal, resume, seedsOf } = await waiting();
    const first = seedsOf("a face");
    expect(first).toEqual([5, 6]);
    const quote = await during(clock, show.rerunQuote("x", ["best/1"]));
    expect(quote.seeds).toEqual([{ step: "best/1", before: 5, after: expect.any(Number) }]);
    const { after } = quote.seeds[0]!;
    expect([5, 6]).not.toContain(after);
    const result = await resume({ rerun: ["best/1"] });
    expect(seedsOf("a face")).toEqual([5, 6, after]);
    const step = stepOf(result, "best/1");
    expect(step.edited).toEqual(["seed"]);
    expect((await journal.read("x")).map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: "rerun.requested", steps: ["best/1"], seeds: { "best/1": after } }),
    );
    // The code still asks with the first seed: that is no change of it.
    expect((await during(clock, show.drift("x", looks))).isSame).toBe(true);
  });

  test("asks with another one each time, for a note and within an expansion too", async () => {
    const { show, clock, resume, seedsOf } = await waiting();
    for (const _ of [1, 2, 3]) await resume({ rerun: ["each/one/1"] });
    const redo = await show.redo("x", "best/pick", "warmer", looks);
    expect(redo.rerun).toEqual(["best/1", "best/2"]);
    await resume({ ...redo, pipeline: looks });
    expect(new Set(seedsOf("one")).size).toBe(5);
    expect(new Set(seedsOf("a face")).size).toBe(4);
    expect((await during(clock, show.drift("x", looks))).isSame).toBe(true);
  });

  test("keeps its seed where nothing was made of it", async () => {
    const { clock, show, run } = await openFakeShow({ refuses: () => apiError(422, "MODERATION_FAILED") });
    const failing = pipelineOf("failing", ({ takes }) => ({
      a: takes("a", models.image, { prompt: "p", seed: 1 }, { count: 1, choose: "first" }),
    }));
    expect((await run(failing)).status).toBe("failed");
    expect((await during(clock, show.rerunQuote("x", ["a/1"]))).seeds).toEqual([]);
    expect((await during(clock, show.rerunQuote("x", [], { rerunFailed: true }))).seeds).toEqual([]);
  });

  test("takes the seed that somebody edits, and none where it is left out", async () => {
    const { resume, seedsOf } = await waiting();
    await resume({
      pipeline: looks,
      acceptChanges: true,
      edit: { "best/1": { seed: 99 }, "best/2": { seed: undefined } },
    });
    expect(seedsOf("a face")).toEqual([5, 6, 99, undefined]);
  });
});

describe("a request that would be the same by the seed of its author", () => {
  test("is named in the quote and refused before anything is paid, unless somebody says so", async () => {
    const { show, clock, bodies, resume, seedsOf } = await waiting();
    const before = bodies().length;
    const quote = await during(clock, show.rerunQuote("x", ["p*"]));
    expect(quote.sameSeed).toEqual([{ step: "poster", seed: 7 }]);
    await expect(resume({ rerun: ["poster"] })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("poster"),
    });
    expect(bodies()).toHaveLength(before);
    await resume({ rerun: ["poster"], sameSeed: true });
    expect(seedsOf("a poster")).toEqual([7, 7]);
  });

  test("is no longer the same once its input is edited, or what it uses is made again", async () => {
    const { show, clock, resume, seedsOf } = await waiting();
    expect((await during(clock, show.rerunQuote("x", ["framed"]))).sameSeed).toHaveLength(1);
    expect((await during(clock, show.rerunQuote("x", ["poster", "framed"]))).sameSeed).toEqual([
      { step: "poster", seed: 7 },
    ]);
    const edit = { poster: { seed: 8 } };
    await resume({ pipeline: looks, acceptChanges: true, edit, rerun: ["poster"] });
    expect(seedsOf("a poster")).toEqual([7, 8]);
  });
});

test("no sequence of reruns and edits asks for the same take twice [G11]", async () => {
  const acts = fc.array(
    fc.oneof(
      fc.constantFrom("best/1", "best/2", "best/*", "each/one/*", "look/1").map((step) => ({ rerun: [step] })),
      fc
        .tuple(fc.constantFrom("best/1", "best/2"), fc.nat({ max: 50 }))
        .map(([step, n]) => ({ pipeline: looks, acceptChanges: true, edit: { [step]: { prompt: `a face ${n}` } } })),
    ),
    { minLength: 1, maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(acts, async (sequence) => {
      const { resume, bodies } = await waiting();
      const count = bodies().length;
      for (const how of sequence) {
        const before = bodies();
        await resume(how);
        if (!("rerun" in how)) continue;
        const bought = bodies().slice(before.length);
        expect(bought.filter((body) => before.includes(body))).toEqual([]);
        expect(new Set(bought).size).toBe(bought.length);
      }
      expect(bodies().length).toBeGreaterThanOrEqual(count);
    }),
    { numRuns: isFull ? 150 : 4 },
  );
});
