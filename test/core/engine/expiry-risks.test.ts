import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { pipeline } from "../../../src/index.ts";
import { during, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const many = pipeline("many", {
  input: z.object({ count: z.number() }),
  build: ({ input, job }) => ({
    all: Array.from({ length: input.count }, (_, i) => job(`p${i}`, models.image, { prompt: `${i}` })),
  }),
});

/** a is shown to a person before b films it; `keep` says whether a is copied. */
const gated = (keep: boolean) =>
  pipelineOf("gated", ({ job, approve }) => {
    const a = job("a", models.image, { prompt: "a" }, { keep });
    const ok = approve("look", a);
    const free = job("free", models.image, { prompt: "free", images: [a] });
    const b = job("b", models.image, { prompt: "b", images: [ok] });
    const c = job("c", models.image, { prompt: "c", images: [b] });
    return { b, c, free };
  });

describe("a quote warns of assets that may expire", () => {
  test("when what uses them waits for a person, and says whether a copy heals that", async () => {
    const { show } = await openFakeShow();
    const lost = (await show.quote(gated(false), {})).risks;
    // c uses what is made after the decision, free what is made before but does not wait for it.
    expect(lost.map(({ step, uses, heals }) => ({ step, uses, heals }))).toEqual([
      { step: "b", uses: "a", heals: false },
    ]);
    expect(lost[0]?.why).toContain("b waits for the decision look");
    expect((await show.quote(gated(true), {})).risks).toMatchObject([{ step: "b", uses: "a", heals: true }]);
  });

  test("when the run takes longer than the service keeps them", async () => {
    const world = await openFakeShow({
      sleep: () => new Promise((resolve) => void world.clock.setTimer(20 * 3_600_000, resolve)),
    });
    const { show, clock } = world;
    const outDir = join(world.outDir, "one");
    const first = await during(clock, show.run(many, { count: 1 }, { outDir }));
    await clock.advance(60_000);
    clock.suspend(20 * 3_600_000);
    await during(clock, first.result(), 3_600_000);
    const slow = pipelineOf("slow", ({ job }) => {
      const a = job("a", models.image, { prompt: "a" });
      let last = a;
      for (let i = 0; i < 4; i++) last = job(`x${i}`, models.image, { prompt: `${i}`, images: [last] });
      return { b: job("b", models.image, { prompt: "b", images: [a, last] }) };
    });
    const { risks } = await show.quote(slow, {});
    expect(risks.map(({ step, uses }) => ({ step, uses }))).toEqual([{ step: "b", uses: "a" }]);
    expect(risks[0]?.why).toContain("about 100 h after a is submitted");
  });

  test("and of nothing in a short run without decisions", async () => {
    const { show } = await openFakeShow();
    expect((await show.quote(many, { count: 3 })).risks).toEqual([]);
    expect(await show.quote(many, { count: "x" } as never)).toMatchObject({ ok: false, risks: [] });
  });
});
