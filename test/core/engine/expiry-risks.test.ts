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
    // c uses what is made after the decision, free what is made before but does not wait for it.
    const lost = { step: "b", uses: "a", why: expect.stringContaining("b waits for a decision on look") };
    expect((await show.quote(gated(false), {})).risks).toMatchObject([{ ...lost, heals: false }]);
    expect((await show.quote(gated(true), {})).risks).toMatchObject([{ ...lost, heals: true }]);
  });

  test("when the run takes longer than the service keeps them", async () => {
    const world = await openFakeShow({
      sleep: () => new Promise((resolve) => void world.clock.setTimer(20 * 3_600_000, resolve)),
    });
    const { show, clock, outDir } = world;
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
    const why = expect.stringContaining("about 100 h after a is submitted");
    expect((await show.quote(slow, {})).risks).toMatchObject([{ step: "b", uses: "a", why }]);
  });

  test("and of nothing in a short run without decisions", async () => {
    const { show } = await openFakeShow();
    expect((await show.quote(many, { count: 3 })).risks).toEqual([]);
    expect(await show.quote(many, { count: "x" } as never)).toMatchObject({ ok: false, risks: [] });
  });
});
